package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/reconcile/fsys"
)

// How is the kind of a name in a view.
type How string

const (
	Absent   How = ""
	HardLink How = "hardlink" // another name of the blob
	RefLink  How = "reflink"  // a separate file that shares the blob's blocks
	Symlink  How = "symlink"  // a link to the blob, which may be gone
	File     How = "file"     // a separate file
	Strange  How = "link"     // a link to something else
	Other    How = "other"    // a folder, a device
)

// Seen is what lies at a name.
type Seen struct {
	How  How
	Info fs.FileInfo // of the name itself, nil if it is Absent
	Blob fs.FileInfo // of the blob, nil if there is none
}

// Look examines p by stats alone. Only a record can tell whether a File is a
// RefLink. The error is that of a name that cannot be examined.
func Look(r fsys.Reader, p, blob fsys.LogicalPath) (Seen, error) {
	var s Seen
	if blob != "" {
		info, err := r.Lstat(blob)
		if err != nil && !fsys.Conclusive(err) {
			return s, err
		}
		if err == nil && info.Mode().IsRegular() {
			s.Blob = info
		}
	}
	info, err := r.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Info = info
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		s.How = Strange
		to, err := r.Readlink(p)
		if err != nil {
			return s, err
		}
		switch ok, err := leads(r, p, to, blob); {
		case err != nil:
			return s, err
		case ok:
			s.How = Symlink
		}
	case !info.Mode().IsRegular():
		s.How = Other
	case s.Blob != nil && sameFile(info, s.Blob):
		s.How = HardLink
	default:
		s.How = File
	}
	return s, nil
}

// leads reports whether a link at p with the target to leads to blob.
func leads(r fsys.Reader, p fsys.LogicalPath, to string, blob fsys.LogicalPath) (bool, error) {
	if blob == "" {
		return false, nil
	}
	if !strings.HasPrefix(to, "/") {
		to = string(p.Dir().Join(to))
	}
	if to == string(blob) {
		return true, nil
	}
	physical, err := r.Physical(blob)
	if err != nil && !fsys.Conclusive(err) {
		return false, err
	}
	return err == nil && to == physical, nil
}

// Place makes p a name for the bytes of blob: a hard link, otherwise a clone
// that shares its blocks, otherwise a symbolic link. It never copies. If p
// exists, the error wraps fs.ErrExist.
func Place(w fsys.FS, dir, blob, p fsys.LogicalPath) (How, error) {
	sweep(w, p)
	err := w.Link(blob, p)
	if err == nil || !errors.Is(err, fsys.ErrCannotShare) {
		return HardLink, err
	}
	if err = w.Clone(blob, p, BlobMode(w, dir)); err == nil || errors.Is(err, fs.ErrExist) {
		return RefLink, err
	}
	err = w.Symlink(p, target(dir, blob, p), fsys.Expect{Absent: true}, nil)
	if errors.Is(err, fsys.ErrChanged) {
		err = fmt.Errorf("%w: %w", fs.ErrExist, err)
	}
	return Symlink, err
}

// target is the target of a link at p to blob. Within a store it is relative,
// so that the store can be moved as a whole.
func target(dir, blob, p fsys.LogicalPath) string {
	if within(dir, p) && within(dir, blob) {
		if rel, err := filepath.Rel(string(p.Dir()), string(blob)); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return string(blob)
}

// sweep removes what a killed run left beside p: further names of the same
// bytes, or links. What cannot be removed stays.
func sweep(w fsys.FS, p fsys.LogicalPath) {
	entries, err := w.ReadDir(p.Dir())
	if err != nil {
		return
	}
	prefix := fsys.TempName(p, "").Base()
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		at := p.Dir().Join(e.Name())
		info, err := w.Lstat(at)
		if err == nil && (info.Mode()&fs.ModeSymlink != 0 || info.Mode().IsRegular() && fsys.Links(info) > 1) {
			_ = w.Discard(at, info)
		}
	}
}

// Aside renames what lies at p, unread, and returns its new name.
func Aside(w fsys.FS, p fsys.LogicalPath) (fsys.LogicalPath, error) {
	for n := 1; ; n++ {
		to := p.Dir().Join(fmt.Sprintf("%s.aside-%d", p.Base(), n))
		err := w.Move(p, to)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make place: %w", err)
		}
		return to, nil
	}
}

// WasAside returns the newest name that Aside gave what lay at p, of those that
// fits allows; "" where there is none. A change that was killed did not say it.
func WasAside(r fsys.Reader, p fsys.LogicalPath, fits func(fs.FileInfo) bool) fsys.LogicalPath {
	entries, err := r.ReadDir(p.Dir())
	if err != nil {
		return ""
	}
	newest, at := 0, fsys.LogicalPath("")
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), p.Base()+".aside-")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n <= newest {
			continue
		}
		if info, err := r.Lstat(p.Dir().Join(e.Name())); err == nil && fits(info) {
			newest, at = n, p.Dir().Join(e.Name())
		}
	}
	return at
}

// Keep moves the file at p, whose bytes are known to be right, to its place in
// the store dir, which does not have them.
func Keep(w fsys.FS, dir fsys.LogicalPath, sha256 string, p fsys.LogicalPath) error {
	blob := Blob(dir, sha256)
	if _, err := MakeDir(w, dir, blob.Dir()); err != nil {
		return err
	}
	if err := w.Move(p, blob); err != nil {
		return fmt.Errorf("keep its bytes in the store: %w", err)
	}
	return nil
}

// Tidy removes folders that are no longer needed, the deepest first.
func Tidy(w fsys.FS, dirs []fsys.LogicalPath) {
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := w.Rmdir(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // another process uses it by now
		}
	}
}

func sameFile(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*unix.Stat_t)
	y, also := b.Sys().(*unix.Stat_t)
	return ok && also && x.Dev == y.Dev && x.Ino == y.Ino
}
