package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// ErrNoBackup says that bytes are no longer kept.
var ErrNoBackup = errors.New("no longer kept")

// linkBackup is how a displaced link is kept.
type linkBackup struct {
	Link string `json:"link"`
}

// KeepBackup moves the displaced entry at old into the backups under digest,
// which is fsys.Digest of its bytes or fsys.LinkDigest of its target. Bytes
// that are kept already stay as they are, and old is left to the caller.
func (d *Dir) KeepBackup(w fsys.FS, old fsys.LogicalPath, digest string) error {
	info, err := w.Lstat(old)
	if err != nil {
		return fmt.Errorf("keep backup: %w", err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := w.Readlink(old)
		if err != nil {
			return fmt.Errorf("keep backup: %w", err)
		}
		b, err := json.Marshal(linkBackup{target})
		if err != nil {
			return fmt.Errorf("keep backup: %w", err)
		}
		return d.put(w, linkID(digest), b)
	}
	to := d.backup(digest)
	if _, err := d.r.Lstat(to); err == nil {
		return nil
	}
	if _, err := w.MkdirAll(to.Dir(), 0o700); err != nil {
		return fmt.Errorf("keep backup: %w", err)
	}
	if err := w.Move(old, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep backup: %w", err)
	}
	return nil
}

// PutBackup keeps b and returns its digest.
func (d *Dir) PutBackup(w fsys.FS, b []byte) (string, error) {
	digest := fsys.Digest(b)
	return digest, d.put(w, digest, b)
}

func (d *Dir) put(w fsys.FS, digest string, b []byte) error {
	p := d.backup(digest)
	if _, err := d.r.Lstat(p); err == nil {
		return nil
	}
	if _, err := w.MkdirAll(p.Dir(), 0o700); err != nil {
		return fmt.Errorf("keep backup: %w", err)
	}
	err := w.Replace(p, fsys.Content{Bytes: b, Mode: 0o600}, fsys.Expect{Absent: true}, nil)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep backup: %w", err)
	}
	return nil
}

// linkID is the name under which a link is kept: its digest with another prefix.
func linkID(digest string) string {
	const link = "link:"
	if len(digest) > len(link) && digest[:len(link)] == link {
		return "sha256:" + digest[len(link):]
	}
	return digest
}

// GetBackup returns kept bytes, checked against digest; of a link, its target.
func (d *Dir) GetBackup(digest string) ([]byte, error) {
	id := linkID(digest)
	if len(id) != len("sha256:")+64 {
		return nil, fmt.Errorf("%q is no digest of a backup", digest)
	}
	b, err := d.r.ReadFile(d.backup(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("backup %s: %w", digest, ErrNoBackup)
	}
	if err != nil {
		return nil, fmt.Errorf("read backup: %w", err)
	}
	if id != digest {
		var l linkBackup
		if err := json.Unmarshal(b, &l); err != nil || fsys.LinkDigest(l.Link) != digest {
			return nil, fmt.Errorf("backup %s: %w", digest, ErrDamaged)
		}
		return []byte(l.Link), nil
	}
	if fsys.Digest(b) != digest {
		return nil, fmt.Errorf("backup %s: %w: its bytes are others", digest, ErrDamaged)
	}
	return b, nil
}

// kept is one backup file.
type kept struct {
	path fsys.LogicalPath
	id   string
	size int64
	time time.Time
}

// SweepBackups removes what needed does not name: everything older than age,
// and then the oldest until what is left is at most limit bytes. It returns
// what it removed; with w nil it only says what it would remove.
func (d *Dir) SweepBackups(w fsys.FS, needed map[string]bool, now time.Time, age time.Duration, limit int64) (removed []fsys.LogicalPath, freed int64, err error) {
	all, err := d.backups()
	if err != nil {
		return nil, 0, err
	}
	var total int64
	for _, k := range all {
		total += k.size
	}
	for _, k := range all {
		if needed[k.id] || now.Sub(k.time) < age && total <= limit {
			continue
		}
		if w != nil {
			b, err := w.ReadFile(k.path)
			if err != nil {
				return removed, freed, fmt.Errorf("sweep backups: %w", err)
			}
			if err := w.Remove(k.path, fsys.Expect{Digest: fsys.Digest(b)}, nil); err != nil {
				return removed, freed, fmt.Errorf("sweep backups: %w", err)
			}
		}
		removed, freed, total = append(removed, k.path), freed+k.size, total-k.size
	}
	return removed, freed, nil
}

// backups lists what is kept, the oldest first.
func (d *Dir) backups() ([]kept, error) {
	base := d.base.Join("backups")
	dirs, err := d.r.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var all []kept
	for _, dir := range dirs {
		files, err := d.r.ReadDir(base.Join(dir.Name()))
		if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				return nil, fmt.Errorf("list backups: %w", err)
			}
			if len(f.Name()) == 64 {
				all = append(all, kept{base.Join(dir.Name(), f.Name()), "sha256:" + f.Name(), info.Size(), info.ModTime()})
			}
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return a.time.Compare(b.time) })
	return all, nil
}
