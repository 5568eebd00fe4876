package store

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// A mark says that this user read every byte of a blob and found them right,
// so that nobody needs to read them again before they are on record.
func markPath(dir fsys.LogicalPath, sha256 string) fsys.LogicalPath {
	return dir.Join(parts, fmt.Sprintf("%s%s%d", strings.ToLower(sha256), markSuffix, os.Geteuid()))
}

const markSuffix = ".verified-"

// Mark notes that the blob behind info was verified. What this user's commands
// that were killed left of its note, and of that of its download, goes.
func Mark(w fsys.FS, dir fsys.LogicalPath, sha256 string, info fs.FileInfo) error {
	p := markPath(dir, sha256)
	if _, err := MakeDir(w, dir, p.Dir()); err != nil {
		return err
	}
	entries, err := w.ReadDir(p.Dir())
	if err != nil {
		return fmt.Errorf("note what was verified: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(strings.TrimLeft(e.Name(), "."), strings.ToLower(sha256)+".") || !strings.Contains(e.Name(), ".aisync-") {
			continue
		}
		litter := p.Dir().Join(e.Name())
		if info, err := w.Lstat(litter); err == nil && owner(info) == os.Geteuid() {
			_ = w.Discard(litter, info) // no reason to fail
		}
	}
	// An older note goes first: an exchange, killed, leaves it behind once the
	// bytes are on record, and then nobody comes here again.
	if was, err := w.Lstat(p); err == nil {
		if err := w.Discard(p, was); err != nil {
			return fmt.Errorf("note what was verified: %w", err)
		}
	}
	b, _ := json.Marshal(StatOf(info)) // plain fields: cannot fail
	if err := w.Replace(p, fsys.Content{Bytes: b, Mode: 0o644}, fsys.Expect{Absent: true}, nil); err != nil {
		return fmt.Errorf("note what was verified: %w", err)
	}
	return nil
}

// Marked reports whether this user verified the blob behind info. What others
// noted does not count.
func Marked(r fsys.Reader, dir fsys.LogicalPath, sha256 string, info fs.FileInfo) bool {
	p := markPath(dir, sha256)
	if at, err := r.Lstat(p); err != nil || !at.Mode().IsRegular() || owner(at) != os.Geteuid() {
		return false
	}
	b, err := r.ReadFile(p)
	var s Stat
	return err == nil && json.Unmarshal(b, &s) == nil && s.Of(info)
}
