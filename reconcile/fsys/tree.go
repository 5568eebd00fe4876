package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/atomicfile"
)

// syncers is how many folders Flush syncs at a time: the journal of a file
// system commits several in one go.
const syncers = 8

// MkdirAll implements FS. The umask of the process applies.
func (d *Disk) MkdirAll(p LogicalPath, mode fs.FileMode) ([]LogicalPath, error) {
	if err := valid(p); err != nil {
		return nil, err
	}
	f, err := d.folder(p)
	if err == nil {
		d.folders.release(f)
		return nil, nil
	}
	if !errors.Is(err, fs.ErrNotExist) || p == "/" || p == "." {
		return nil, err
	}
	made, err := d.MkdirAll(p.Dir(), mode)
	if err != nil {
		return made, err
	}
	up, err := d.folder(p.Dir())
	if err != nil {
		return made, err
	}
	defer d.folders.release(up)
	at := up.path(p.Base())
	err = d.op("mkdir", at, func() error { return unix.Mkdirat(up.fd, p.Base(), modeBits(mode)) })
	if errors.Is(err, fs.ErrExist) {
		return made, d.madeByOther(p, at)
	}
	if err != nil {
		return made, err
	}
	made = append(made, p)
	d.changed(up)
	if d.givesAway(at) {
		err = d.op("chown", at, func() error {
			return unix.Fchownat(up.fd, p.Base(), d.uid, d.gid, unix.AT_SYMLINK_NOFOLLOW)
		})
	}
	return made, err
}

// madeByOther tells a folder that appeared meanwhile from a dangling link.
func (d *Disk) madeByOther(p LogicalPath, at string) error {
	f, err := d.folder(p)
	if err == nil {
		d.folders.release(f)
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a dangling link: %w; create its target, or remove the link", at, ErrBlocked)
	}
	return err
}

// Rmdir implements FS.
func (d *Disk) Rmdir(p LogicalPath) error {
	f, name, err := d.split(p)
	if err != nil {
		return err
	}
	defer d.folders.release(f)
	err = d.op("rmdir", f.path(name), func() error { return unix.Unlinkat(f.fd, name, unix.AT_REMOVEDIR) })
	switch {
	case errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST):
		return fmt.Errorf("%s: %w", f.path(name), ErrNotEmpty)
	case errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%s is not a folder: %w", f.path(name), ErrBlocked)
	case err != nil:
		return err
	}
	d.changed(f)
	return nil
}

// Chmod implements FS. A link is refused.
func (d *Disk) Chmod(p LogicalPath, mode fs.FileMode) error {
	f, name, err := d.split(p)
	if err != nil {
		return err
	}
	defer d.folders.release(f)
	at := f.path(name)
	fd, err := openat(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case err == nil:
		defer unix.Close(fd)
		return d.op("chmod", at, func() error { return unix.Fchmod(fd, modeBits(mode)) })
	case errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK):
		return fmt.Errorf("%s is a link: %w", at, ErrBlocked)
	case errors.Is(err, unix.EACCES): // not readable, yet perhaps ours
		return d.op("chmod", at, func() error {
			return unix.Fchmodat(f.fd, name, modeBits(mode), unix.AT_SYMLINK_NOFOLLOW)
		})
	}
	return &fs.PathError{Op: "chmod", Path: at, Err: err}
}

// Append implements FS. If it fails, a part of data may have been written.
func (d *Disk) Append(p LogicalPath, data []byte, mode fs.FileMode) error {
	f, name, err := d.split(p)
	if err != nil {
		return err
	}
	defer d.folders.release(f)
	fd, err := d.openOrMake(f, name, unix.O_WRONLY|unix.O_APPEND, mode)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := d.write(fd, f.path(name), data); err != nil {
		return err
	}
	return d.sync(fd, f.path(name))
}

// Note implements FS. If it fails, a part of data may have been written.
func (d *Disk) Note(p LogicalPath, data []byte) error {
	f, name, err := d.split(p)
	if err != nil {
		return err
	}
	defer d.folders.release(f)
	fd, err := openat(f.fd, name, unix.O_WRONLY|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: f.path(name), Err: err}
	}
	if err := onlyRegular(fd, f.path(name)); err != nil {
		return err
	}
	defer unix.Close(fd)
	return d.write(fd, f.path(name), data)
}

// OpenPart implements FS.
func (d *Disk) OpenPart(p LogicalPath) (*os.File, error) {
	f, name, err := d.split(p)
	if err != nil {
		return nil, err
	}
	defer d.folders.release(f)
	fd, err := d.openOrMake(f, name, unix.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.path(name)), nil
}

// openOrMake opens a regular file, creating it if it is missing.
func (d *Disk) openOrMake(f *folder, name string, flags int, mode fs.FileMode) (int, error) {
	at := f.path(name)
	for {
		fd, err := openat(f.fd, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err == nil {
			return fd, onlyRegular(fd, at)
		}
		if st, serr := lstatat(f.fd, name); serr == nil && !regular(st) {
			return -1, blocked(at, st)
		}
		if !errors.Is(err, unix.ENOENT) {
			return -1, &fs.PathError{Op: "open", Path: at, Err: err}
		}
		err = d.op("create", at, func() (err error) {
			fd, err = unix.Openat(f.fd, name, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, modeBits(mode))
			return err
		})
		if errors.Is(err, fs.ErrExist) {
			continue // another process made it in between
		}
		if err != nil {
			return -1, err
		}
		d.changed(f)
		if d.givesAway(at) {
			if err := d.op("chown", at, func() error { return unix.Fchown(fd, d.uid, d.gid) }); err != nil {
				_ = unix.Close(fd)
				return -1, err
			}
		}
		return fd, nil
	}
}

// onlyRegular makes fd blocking again, or closes it if it is not a regular
// file.
func onlyRegular(fd int, at string) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && !regular(&st) {
		err = blocked(at, &st)
	} else if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return err
}

// changed records that the next Flush must sync the entries of f.
func (d *Disk) changed(f *folder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dirty[f.physical] = true
}

// Flush implements FS. A folder that could not be synced stays recorded.
func (d *Disk) Flush() error {
	d.mu.Lock()
	todo := d.dirty
	d.dirty = map[string]bool{}
	d.mu.Unlock()
	var wg sync.WaitGroup
	var failed []error
	slots := make(chan struct{}, syncers)
	for p := range todo {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := d.syncOne(p); err != nil {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.dirty[p] = true
				failed = append(failed, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

func (d *Disk) syncOne(physical string) (err error) {
	defer Caught(&err)
	return d.syncFolder(physical)
}

// syncFolder syncs the folder at a resolved physical path. It skips one that
// was removed, or that may only be searched: only its owner could sync
// that.
func (d *Disk) syncFolder(physical string) error {
	return d.op("fsyncdir", physical, func() error { return atomicfile.SyncFolder(physical) })
}

func otherDevice(err error) bool { return errors.Is(err, unix.EXDEV) }
