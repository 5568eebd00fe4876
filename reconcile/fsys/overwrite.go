package fsys

import (
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

func (d *Disk) isWeak(f *folder) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.weak[f.physical]
}

// overwrite is swap for file systems without exchange: keep gets a copy, and a
// last check comes right before the rename.
func (d *Disk) overwrite(f *folder, name, temp string, made identity, expect Expect, keep Keep) error {
	err := d.keepCopy(f, name, expect, keep)
	if err == nil {
		err = f.recheck(name, name, expect)
	}
	if err == nil {
		err = d.op("rename", f.path(name), func() error { return unix.Renameat(f.fd, temp, f.fd, name) })
	}
	if err != nil {
		return d.discard(f, temp, made, err)
	}
	return nil
}

// keepCopy hands a copy of the entry name to keep.
func (d *Disk) keepCopy(f *folder, name string, expect Expect, keep Keep) error {
	if keep == nil {
		return nil
	}
	aside := AsideName(f.logical.Join(name), d.tag).Base()
	id, err := d.duplicate(f, name, f, aside)
	if err != nil {
		return err
	}
	if err := f.recheck(aside, name, expect); err != nil {
		return d.discard(f, aside, id, err)
	}
	if err := keep(f.logical.Join(aside)); err != nil {
		return d.discard(f, aside, id, err)
	}
	return d.discard(f, aside, id, nil)
}

// duplicate copies a regular file or a link with its metadata.
func (d *Disk) duplicate(from *folder, a string, to *folder, b string) (identity, error) {
	e, err := from.open(a)
	if err != nil {
		return identity{}, err
	}
	defer e.close()
	if e.isLink() {
		return d.link(to, b, e.target)
	}
	return d.create(to, b, func(w io.Writer) error {
		n, err := io.Copy(w, reader{e.fd})
		if err == nil && n != e.st.Size {
			err = fmt.Errorf("%s changed while it was copied: %w", from.path(a), ErrChanged)
		}
		return err
	}, 0, e)
}

// Move implements FS.
func (d *Disk) Move(from, to LogicalPath) error {
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
	err = d.renameNew(ff, a, tf, b)
	if otherDevice(err) {
		err = d.moveByCopy(ff, a, tf, b)
	}
	if err != nil {
		return fmt.Errorf("move %s: %w", ff.path(a), err)
	}
	d.changed(ff)
	d.changed(tf)
	return nil
}

// moveByCopy removes the source last, when the copy is on disk under its name.
func (d *Disk) moveByCopy(ff *folder, a string, tf *folder, b string) error {
	temp := TempName(tf.logical.Join(b), d.tag).Base()
	if _, err := lstatat(tf.fd, b); err == nil {
		return &fs.PathError{Op: "rename", Path: tf.path(b), Err: fs.ErrExist}
	}
	id, err := d.duplicate(ff, a, tf, temp)
	if err != nil {
		return err
	}
	if err := d.renameNew(tf, temp, tf, b); err != nil {
		return d.discard(tf, temp, id, err)
	}
	if err := d.syncFolder(tf.physical); err != nil {
		return err
	}
	return d.unlink(ff, a)
}
