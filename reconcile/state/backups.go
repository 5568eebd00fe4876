package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// ErrNoBackup means that bytes are no longer kept.
var ErrNoBackup = errors.New("no longer kept")

// linkBackup is the form of a displaced link in the backups.
type linkBackup struct {
	Link string `json:"link"`
}

// KeepBackup moves the displaced entry at old into the backups under digest,
// which is fsys.Digest of its bytes or fsys.LinkDigest of its target. A regular
// file keeps its mode. If an intact backup exists, nothing happens and old is
// left to the caller. If it fails, old is still there; a kill leaves old, the
// backup, or both.
func (d *Dir) KeepBackup(w fsys.FS, old fsys.LogicalPath, digest string) error {
	d.keeping.Lock()
	defer d.keeping.Unlock()
	to, err := d.backup(digest)
	if err != nil {
		return fmt.Errorf("keep backup: %w", err)
	}
	if d.has(digest) {
		return nil
	}
	info, err := w.Lstat(old)
	if err != nil {
		return fmt.Errorf("keep backup: %w", err)
	}
	if info.Mode()&fs.ModeSymlink == 0 && fsys.Links(info) == 1 {
		if err = d.clear(w, to); err == nil {
			err = w.Move(old, to)
		}
		if errors.Is(err, fs.ErrNotExist) {
			if _, err = w.MkdirAll(to.Dir(), 0o700); err == nil {
				err = w.Move(old, to)
			}
		}
		if err != nil && !(errors.Is(err, fs.ErrExist) && d.has(digest)) {
			return fmt.Errorf("keep backup: %w", err)
		}
		return nil
	}
	// The other names of a file could change what is kept, so it is copied.
	b, err := backupBytes(w, old, info)
	if err != nil {
		return fmt.Errorf("keep backup: %w", err)
	}
	if digestOf(to, b) != digest {
		return fmt.Errorf("keep backup of %s: %w", old, fsys.ErrChanged)
	}
	if err := d.put(w, digest, b); err != nil {
		return err
	}
	if err := w.Flush(); err != nil { // the caller removes old, which is not moved here
		return fmt.Errorf("keep backup: %w", err)
	}
	return nil
}

// backupBytes is the content of the backup of the entry at p.
func backupBytes(r fsys.Reader, p fsys.LogicalPath, info fs.FileInfo) ([]byte, error) {
	if info.Mode()&fs.ModeSymlink == 0 {
		return r.ReadFile(p)
	}
	target, err := r.Readlink(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(linkBackup{target})
}

// PutBackup keeps b and returns its digest.
func (d *Dir) PutBackup(w fsys.FS, b []byte) (string, error) {
	d.keeping.Lock()
	defer d.keeping.Unlock()
	digest := fsys.Digest(b)
	return digest, d.put(w, digest, b)
}

func (d *Dir) put(w fsys.FS, digest string, b []byte) error {
	if d.has(digest) {
		return nil
	}
	p, err := d.backup(digest)
	if err == nil {
		err = d.clear(w, p)
	}
	if err == nil {
		_, err = w.MkdirAll(p.Dir(), 0o700)
	}
	if err == nil {
		err = w.Replace(p, fsys.Content{Bytes: b, Mode: 0o600}, fsys.Expect{Absent: true}, nil)
	}
	if err != nil && !d.has(digest) { // another process may have kept the same meanwhile
		return fmt.Errorf("keep backup: %w", err)
	}
	return nil
}

// clear removes a damaged backup, which would block an intact one.
func (d *Dir) clear(w fsys.FS, p fsys.LogicalPath) error {
	b, err := w.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if at, err := d.backup(digestOf(p, b)); err == nil && at == p {
		return nil // another process completed it
	}
	return w.Remove(p, fsys.Expect{Digest: fsys.Digest(b)}, nil)
}

// GetBackup returns kept bytes, checked against digest; of a link, its target.
// The error wraps ErrNoBackup if there are none, and ErrDamaged if they
// changed.
func (d *Dir) GetBackup(digest string) ([]byte, error) {
	p, err := d.backup(digest)
	if err != nil {
		return nil, err
	}
	b, err := d.r.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("backup %s: %w", digest, ErrNoBackup)
	}
	if err != nil {
		return nil, fmt.Errorf("read backup: %w", err)
	}
	if digestOf(p, b) != digest {
		return nil, fmt.Errorf("backup %s: %w: %s holds other bytes", digest, ErrDamaged, p)
	}
	if !isLink(p) {
		return b, nil
	}
	var l linkBackup
	err = json.Unmarshal(b, &l)
	return []byte(l.Link), err
}

func (d *Dir) has(digest string) bool {
	_, err := d.GetBackup(digest)
	return err == nil
}

const linkEnding = ".link"

// backup returns the path of the backup with a digest. A link's has an
// extension, because a file may hold the very text of the link's target.
func (d *Dir) backup(digest string) (fsys.LogicalPath, error) {
	kind, sum, _ := strings.Cut(digest, ":")
	raw, err := hex.DecodeString(sum)
	if err != nil || len(raw) != sha256.Size || kind != "sha256" && kind != "link" || strings.ToLower(sum) != sum {
		return "", fmt.Errorf("%q is not the digest of a backup", digest)
	}
	name := sum
	if kind == "link" {
		name += linkEnding
	}
	return d.base.Join("backups", sum[:2], name), nil
}

func isLink(p fsys.LogicalPath) bool { return strings.HasSuffix(string(p), linkEnding) }

// digestOf is the digest that the backup file at p stands for if it holds b.
func digestOf(p fsys.LogicalPath, b []byte) string {
	if !isLink(p) {
		return fsys.Digest(b)
	}
	var l linkBackup
	if err := json.Unmarshal(b, &l); err != nil {
		return ""
	}
	return fsys.LinkDigest(l.Link)
}
