package fsys

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// swap exchanges temp, which this Disk made, with the entry name, and releases
// the old entry only after checking that it is the expected one.
func (d *Disk) swap(f *folder, name, temp string, made identity, expect Expect, keep Keep) error {
	if d.isWeak(f) {
		return d.overwrite(f, name, temp, made, expect, keep)
	}
	err := d.exchange(f, temp, name)
	switch {
	case unsupported(err):
		d.weaken(f)
		return d.overwrite(f, name, temp, made, expect, keep)
	case errors.Is(err, fs.ErrNotExist):
		return d.discard(f, temp, made, fmt.Errorf("%s %w: it is gone", f.path(name), ErrChanged))
	case err != nil:
		return d.discard(f, temp, made, err)
	}
	if err := f.recheck(temp, name, expect); err != nil {
		return d.swapBack(f, name, temp, made, err)
	}
	if err := d.letGo(f, temp, keep); err != nil {
		return d.swapBack(f, name, temp, made, err)
	}
	return nil
}

// swapBack puts the old entry back in place and removes the new one.
func (d *Disk) swapBack(f *folder, name, temp string, made identity, cause error) error {
	if _, err := lstatat(f.fd, temp); errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w (the new entry is in place, the old one was taken over)", cause)
	}
	err := d.exchange(f, temp, name)
	if errors.Is(err, fs.ErrNotExist) { // another program removed the new entry meanwhile
		err = d.renameNew(f, temp, f, name)
	}
	if err != nil {
		return fmt.Errorf("%w; what was at %s now lies at %s and could not be put back: %w", cause, f.path(name), f.path(temp), err)
	}
	return d.discard(f, temp, made, cause)
}

// letGo hands a displaced entry to keep and removes what keep leaves.
func (d *Disk) letGo(f *folder, temp string, keep Keep) error {
	if keep != nil {
		if err := keep(f.logical.Join(temp)); err != nil {
			return err
		}
		if _, err := lstatat(f.fd, temp); errors.Is(err, unix.ENOENT) {
			return nil
		}
	}
	return d.unlink(f, temp)
}

// discard removes an entry that this Disk made, never another's, and returns
// cause joined with further errors.
func (d *Disk) discard(f *folder, name string, made identity, cause error) error {
	var left error
	st, err := lstatat(f.fd, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return cause
	case err != nil:
		left = fmt.Errorf("%s is left behind: %w", f.path(name), err)
	case identityOf(st) != made:
		left = fmt.Errorf("%s was changed by another program meanwhile and is kept", f.path(name))
	default:
		if err := d.unlink(f, name); err != nil {
			left = fmt.Errorf("%s is left behind: %w", f.path(name), err)
		}
	}
	return errors.Join(cause, left)
}

// Remove implements FS.
func (d *Disk) Remove(p LogicalPath, expect Expect, keep Keep) error {
	f, name, err := d.split(p)
	if err != nil {
		if expect.Absent && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer d.folders.release(f)
	old, err := f.expect(name, expect)
	if err != nil || expect.Absent {
		return err
	}
	old.close()
	temp := TempName(p, d.tag).Base()
	err = d.renameNew(f, name, f, temp)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is left from an interrupted run: %w", f.path(temp), err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %w: it is gone", f.path(name), ErrChanged)
	case err != nil:
		return err
	}
	err = f.recheck(temp, name, expect)
	if err == nil {
		err = d.letGo(f, temp, keep)
	}
	if err == nil {
		d.changed(f)
		return nil
	}
	if back := d.renameNew(f, temp, f, name); back != nil && !errors.Is(back, fs.ErrNotExist) {
		return fmt.Errorf("%w; what was at %s now lies at %s and could not be put back: %w", err, f.path(name), f.path(temp), back)
	}
	return err
}
