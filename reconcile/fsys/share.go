package fsys

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// ErrCannotShare means that two names cannot share a file's bytes: they lie on
// different file systems, or the file system or the system's rules forbid it.
var ErrCannotShare = errors.New("cannot share its bytes")

// Link implements FS.
func (d *Disk) Link(from, to LogicalPath) error {
	return d.share(from, to, func(ff *folder, a string, tf *folder, b string) error {
		return d.op("link", tf.path(b), func() error { return unix.Linkat(ff.fd, a, tf.fd, b, 0) })
	})
}

// Clone implements FS.
func (d *Disk) Clone(from, to LogicalPath, mode fs.FileMode) error {
	return d.share(from, to, func(ff *folder, a string, tf *folder, b string) error {
		e, err := ff.open(a)
		if err != nil {
			return err
		}
		defer e.close()
		return d.op("clone", tf.path(b), func() error { return cloneat(e.fd, tf.fd, b, modeBits(mode)) })
	})
}

func (d *Disk) share(from, to LogicalPath, make func(ff *folder, a string, tf *folder, b string) error) error {
	ff, a, err := d.split(from)
	if err != nil {
		return err
	}
	defer d.folders.release(ff)
	tf, b, err := d.split(to)
	if err != nil {
		return err
	}
	defer d.folders.release(tf)
	st, err := lstatat(ff.fd, a)
	if err != nil {
		return &fs.PathError{Op: "lstat", Path: ff.path(a), Err: err}
	}
	if !regular(st) {
		return blocked(ff.path(a), st)
	}
	err = make(ff, a, tf, b)
	if otherDevice(err) || unsupported(err) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EMLINK) || errors.Is(err, unix.ENOTTY) {
		return fmt.Errorf("%w: %w", ErrCannotShare, err)
	}
	if err != nil {
		return err
	}
	d.changed(tf)
	return nil
}

// Discard implements FS.
func (d *Disk) Discard(p LogicalPath, seen fs.FileInfo) error {
	want, ok := seen.Sys().(*unix.Stat_t)
	if !ok {
		return fmt.Errorf("%s: its stat is not known: %w", p, fs.ErrInvalid)
	}
	f, name, err := d.split(p)
	if err != nil {
		return err
	}
	defer d.folders.release(f)
	same := func(name string) error {
		st, err := lstatat(f.fd, name)
		switch {
		case err != nil:
			return &fs.PathError{Op: "lstat", Path: f.path(p.Base()), Err: err}
		case identityOf(st) != identityOf(want) || st.Mode != want.Mode || st.Size != want.Size || st.Mtim != want.Mtim:
			return fmt.Errorf("%s %w", f.path(p.Base()), ErrChanged)
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			return blocked(f.path(p.Base()), st)
		}
		return nil
	}
	if err := same(name); err != nil {
		return err
	}
	temp := TempName(p, d.tag).Base()
	if err := d.renameNew(f, name, f, temp); err != nil {
		return err
	}
	err = same(temp)
	if err == nil {
		err = d.unlink(f, temp)
	}
	if err != nil {
		if back := d.renameNew(f, temp, f, name); back != nil && !errors.Is(back, fs.ErrNotExist) {
			return fmt.Errorf("%w; what was at %s now lies at %s and could not be put back: %w", err, f.path(name), f.path(temp), back)
		}
		return err
	}
	d.changed(f)
	return nil
}
