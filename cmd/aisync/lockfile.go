package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// lockName is the file of pins beside every spec.
const lockName = "aisync.lock"

// lockFile is one aisync.lock as it was read.
type lockFile struct {
	path  string // physical
	found bool
	was   []byte
	lock  *reconcile.Lock // never nil
}

// readLockFile reads a lock; one that is not there is empty.
func readLockFile(path string) (*lockFile, error) {
	l := &lockFile{path: path, lock: &reconcile.Lock{}}
	b, err := regular.Read(path, regular.MaxSpec)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil
	case err != nil:
		return nil, fmt.Errorf("read lock: %w", err)
	}
	l.found, l.was = true, b
	l.lock, err = reconcile.ParseLock(path, b)
	return l, err
}

// changed reports whether the lock says anything else than its file.
func (l *lockFile) changed() bool {
	if l == nil || !l.found && l.lock.Empty() {
		return false
	}
	return !bytes.Equal(l.was, l.lock.Bytes())
}

// digest identifies the pins, for plan files.
func (l *lockFile) digest() string {
	if l == nil || !l.found {
		return ""
	}
	return fsys.Digest(l.was)
}

// save writes the lock beside its spec, unless somebody changed it meanwhile.
// One that says nothing is taken away.
func (l *lockFile) save(o fsys.Options) error {
	if !l.changed() {
		return nil
	}
	w, err := l.folder(o)
	if err != nil {
		return l.unwritable(err)
	}
	p := fsys.LogicalPath(filepath.Base(l.path))
	if err := w.Writable(p); err != nil {
		return l.unwritable(err)
	}
	expect := fsys.Expect{Absent: !l.found}
	if l.found {
		expect.Digest = fsys.Digest(l.was)
	}
	if l.lock.Empty() {
		if err := w.Remove(p, expect, nil); err != nil {
			return l.unwritable(err)
		}
		l.found, l.was = false, nil
		return w.Flush()
	}
	b := l.lock.Bytes()
	if err := w.Replace(p, fsys.Content{Bytes: b}, expect, nil); err != nil {
		return l.unwritable(err)
	}
	if err := w.Flush(); err != nil {
		return l.unwritable(err)
	}
	l.found, l.was = true, b
	return nil
}

// sweep removes what a command that was killed while it saved l left beside it.
func (l *lockFile) sweep(o fsys.Options) error {
	// The further dots are of one that was killed while it swept.
	temps, _ := filepath.Glob(filepath.Join(globQuoted(filepath.Dir(l.path)), ".*"+lockName+".aisync-*")) // a pattern of ours: cannot be bad
	temps = slices.DeleteFunc(temps, func(t string) bool {
		return !strings.HasPrefix(strings.TrimLeft(filepath.Base(t), "."), lockName+".aisync-")
	})
	if len(temps) == 0 {
		return nil
	}
	w, err := l.folder(o)
	if err != nil {
		return err
	}
	for _, temp := range temps {
		p := fsys.LogicalPath(filepath.Base(temp))
		info, err := w.Lstat(p)
		if err == nil {
			err = w.Discard(p, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take away what was left of %s: %w", l.path, err)
		}
	}
	return nil
}

// folder is the file system of the folder that l lies in.
func (l *lockFile) folder(o fsys.Options) (*fsys.Disk, error) {
	o.Root, o.Home, o.Project = "", "", filepath.Dir(l.path)
	return fsys.New(o)
}

func (l *lockFile) unwritable(err error) error {
	return fmt.Errorf("write %s: %w; the folder of a spec must be writable until everything in it is pinned: run aisync lock in a copy that is, and bring aisync.lock along", l.path, err)
}
