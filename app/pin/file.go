package pin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// FileName is the file of pins beside every spec.
const FileName = "aisync.lock"

// File is one aisync.lock.
type File struct {
	Path string          // physical
	Lock *reconcile.Lock // as read, or to be written; never nil

	found bool
	read  []byte
}

// ReadFile reads the lock at path; a missing one is empty.
func ReadFile(path string) (*File, error) {
	f := &File{Path: path, Lock: &reconcile.Lock{}}
	b, err := regular.Read(path, regular.MaxSpec)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("read lock: %w", err)
	}
	f.found, f.read = true, b
	f.Lock, err = reconcile.ParseLock(path, b)
	return f, err
}

// Set records pins, such as a Resolver's.
func (f *File) Set(pins []reconcile.Pin) {
	for _, p := range pins {
		f.Lock.SetPin(p)
	}
}

// KeepSources drops the pins of all bundle sources but those of that name.
func (f *File) KeepSources(names []string) {
	f.Lock.Unpin(func(p reconcile.Pin) bool { return p.Kind != KindBundle || slices.Contains(names, p.Name) })
}

// KeepBases drops the pins of all bases but those of that name.
func (f *File) KeepBases(names []string) {
	f.Lock.Unpin(func(p reconcile.Pin) bool { return p.Kind != KindBase || slices.Contains(names, p.Name) })
}

// Found reports whether the file exists.
func (f *File) Found() bool { return f.found }

// Changed reports whether the lock differs from its file.
func (f *File) Changed() bool {
	if !f.found && f.Lock.Empty() {
		return false
	}
	return !bytes.Equal(f.read, f.Lock.Bytes())
}

// Digest identifies the content of the file as it was read; "" if there is no
// file, or no project.
func (f *File) Digest() string {
	if f == nil || !f.found {
		return ""
	}
	return fsys.Digest(f.read)
}

// Save writes the lock beside its spec, or removes an empty one. It leaves a
// file alone that changed since it was read. If the folder is read-only, the
// error is a NotWritable one.
func (f *File) Save(o fsys.Options) error {
	if !f.Changed() {
		return nil
	}
	w, err := f.folder(o)
	if err != nil {
		return f.NotWritable(err)
	}
	p := fsys.LogicalPath(filepath.Base(f.Path))
	if err := w.Writable(p); err != nil {
		return f.NotWritable(err)
	}
	expect := fsys.Expect{Absent: !f.found}
	if f.found {
		expect.Digest = fsys.Digest(f.read)
	}
	if f.Lock.Empty() {
		if err := w.Remove(p, expect, nil); err != nil {
			return f.NotWritable(err)
		}
		f.found, f.read = false, nil
		return w.Flush()
	}
	b := f.Lock.Bytes()
	if err := w.Replace(p, fsys.Content{Bytes: b}, expect, nil); err != nil {
		return f.NotWritable(err)
	}
	if err := w.Flush(); err != nil {
		return f.NotWritable(err)
	}
	f.found, f.read = true, b
	return nil
}

// Sweep removes what a process killed in Save left beside the file.
func (f *File) Sweep(o fsys.Options) error {
	entries, _ := os.ReadDir(filepath.Dir(f.Path)) // a folder that cannot be read holds nothing of ours
	for _, e := range entries {
		// The additional dots are from a process killed in Sweep.
		rest := strings.TrimLeft(e.Name(), ".")
		if rest == e.Name() || !strings.HasPrefix(rest, FileName+".aisync-") {
			continue
		}
		w, err := f.folder(o)
		if err != nil {
			return err
		}
		p := fsys.LogicalPath(e.Name())
		info, err := w.Lstat(p)
		if err == nil {
			err = w.Discard(p, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove leftovers of %s: %w", f.Path, err)
		}
	}
	return nil
}

// folder is the file system of f's folder.
func (f *File) folder(o fsys.Options) (*fsys.Disk, error) {
	o.Root, o.Home, o.Project = "", "", filepath.Dir(f.Path)
	return fsys.New(o)
}

// NotWritable returns an Error that f cannot be written.
func (f *File) NotWritable(err error) error {
	return &Error{Reason: NotWritable, Err: fmt.Errorf("write %s: %w; the folder of a spec must be writable until everything in it is pinned", f.Path, err)}
}
