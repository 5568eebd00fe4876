package store

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// markPath is the file that says that this user read every byte of a blob and
// found them right, so that an apply need not read them again.
func markPath(dir fsys.LogicalPath, sha256 string) fsys.LogicalPath {
	return dir.Join(parts, fmt.Sprintf("%s%s%d", strings.ToLower(sha256), markSuffix, os.Geteuid()))
}

const markSuffix = ".verified-"

// Mark records that the blob behind info was verified. It removes what this
// user's killed commands left of this note and of that of the download.
func Mark(w fsys.FS, dir fsys.LogicalPath, sha256 string, info fs.FileInfo) error {
	p := markPath(dir, sha256)
	if _, err := MakeDir(w, dir, p.Dir()); err != nil {
		return err
	}
	entries, err := w.ReadDir(p.Dir())
	if err != nil {
		return fmt.Errorf("mark as verified: %w", err)
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
	// An older note goes first: a killed exchange would leave it behind, and
	// once the bytes are on record no later call removes it.
	if was, err := w.Lstat(p); err == nil {
		if err := w.Discard(p, was); err != nil {
			return fmt.Errorf("mark as verified: %w", err)
		}
	}
	b, _ := json.Marshal(StatOf(info)) // plain fields: cannot fail
	if err := w.Replace(p, fsys.Content{Bytes: b, Mode: 0o644}, fsys.Expect{Absent: true}, nil); err != nil {
		return fmt.Errorf("mark as verified: %w", err)
	}
	return nil
}

// Marked reports whether this user verified the blob behind info. Other users'
// marks do not count.
func Marked(r fsys.Reader, dir fsys.LogicalPath, sha256 string, info fs.FileInfo) bool {
	p := markPath(dir, sha256)
	if at, err := r.Lstat(p); err != nil || !at.Mode().IsRegular() || owner(at) != os.Geteuid() {
		return false
	}
	b, err := r.ReadFile(p)
	var s Stat
	return err == nil && json.Unmarshal(b, &s) == nil && s.Of(info)
}
