package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"golang.org/x/sys/unix"
)

// Lstat implements Reader.
func (d *Disk) Lstat(p LogicalPath) (fs.FileInfo, error) {
	f, name, err := d.split(p)
	if err != nil {
		return nil, err
	}
	defer d.folders.release(f)
	st, err := lstatat(f.fd, name)
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: f.path(name), Err: err}
	}
	return fileInfo{p.Base(), st}, nil
}

// ReadFile implements Reader. Anything but a regular file is ErrBlocked, one of
// more than MaxRead bytes ErrTooLarge.
func (d *Disk) ReadFile(p LogicalPath) ([]byte, error) {
	e, err := d.openRegular(p)
	if err != nil {
		return nil, err
	}
	defer e.close()
	if e.st.Size > MaxRead {
		return nil, &fs.PathError{Op: "read", Path: e.path(), Err: fmt.Errorf("%w: %d bytes, and at most %d are read", ErrTooLarge, e.st.Size, MaxRead)}
	}
	b, err := e.readAll(nil)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: e.path(), Err: err}
	}
	return b, nil
}

// Open implements Reader. Anything but a regular file is ErrBlocked.
func (d *Disk) Open(p LogicalPath) (*os.File, error) {
	e, err := d.openRegular(p)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(e.fd, false); err != nil {
		e.close()
		return nil, &fs.PathError{Op: "open", Path: e.path(), Err: err}
	}
	return os.NewFile(uintptr(e.fd), e.path()), nil
}

// Digest implements Reader. Anything but a regular file is ErrBlocked.
func (d *Disk) Digest(p LogicalPath) (string, fs.FileMode, error) {
	e, err := d.openRegular(p)
	if err != nil {
		return "", 0, err
	}
	defer e.close()
	digest, err := e.digest()
	if err != nil {
		return "", 0, &fs.PathError{Op: "read", Path: e.path(), Err: err}
	}
	return digest, fileInfo{e.name, &e.st}.Mode(), nil
}

func (d *Disk) openRegular(p LogicalPath) (*entry, error) {
	f, name, err := d.split(p)
	if err != nil {
		return nil, err
	}
	defer d.folders.release(f)
	e, err := f.open(name)
	if err == nil && e.isLink() {
		err = fmt.Errorf("%s is a link to %s: %w", e.path(), e.target, ErrBlocked)
	}
	return e, err
}

// ReadDir implements Reader: the entries of the folder p, sorted by name. A
// link to a folder within the scope is followed, as it is for the paths below.
func (d *Disk) ReadDir(p LogicalPath) ([]fs.DirEntry, error) {
	if err := valid(p); err != nil {
		return nil, err
	}
	f, err := d.folder(p)
	if err != nil {
		return nil, err
	}
	defer d.folders.release(f)
	fd, err := openat(f.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.physical, Err: err}
	}
	dir := os.NewFile(uintptr(fd), f.physical)
	defer dir.Close()
	list, err := dir.ReadDir(-1)
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	return list, err
}

// Readlink implements Reader. Anything but a link is ErrBlocked.
func (d *Disk) Readlink(p LogicalPath) (string, error) {
	f, name, err := d.split(p)
	if err != nil {
		return "", err
	}
	defer d.folders.release(f)
	target, err := readlinkat(f.fd, name)
	if errors.Is(err, unix.EINVAL) {
		return "", fmt.Errorf("%s is not a link: %w", f.path(name), ErrBlocked)
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: f.path(name), Err: err}
	}
	return target, nil
}

// Physical implements Reader. Missing parts of the path stay as named.
func (d *Disk) Physical(p LogicalPath) (string, error) {
	if err := valid(p); err != nil {
		return "", err
	}
	if p == "/" || p == "." {
		f, err := d.folder(p)
		if err != nil {
			return "", err
		}
		defer d.folders.release(f)
		return f.physical, nil
	}
	f, rest, err := d.nearest(p)
	if err != nil {
		return "", err
	}
	defer d.folders.release(f)
	return filepath.Join(f.physical, rest), nil
}

// nearest returns the deepest existing folder above p, and the rest of p.
func (d *Disk) nearest(p LogicalPath) (*folder, string, error) {
	rest := p.Base()
	for dir := p.Dir(); ; dir = dir.Dir() {
		f, err := d.folder(dir)
		if err == nil {
			return f, rest, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == "/" || dir == "." {
			return nil, "", err
		}
		rest = filepath.Join(dir.Base(), rest)
	}
}

// Writable implements Reader.
func (d *Disk) Writable(p LogicalPath) error {
	if err := valid(p); err != nil {
		return err
	}
	f, _, err := d.nearest(p)
	if err != nil {
		return err
	}
	defer d.folders.release(f)
	err = again(func() error { return unix.Faccessat(f.fd, ".", unix.W_OK|unix.X_OK, 0) })
	if err == nil {
		return nil
	}
	st, serr := lstatat(f.fd, ".")
	if serr != nil {
		return &fs.PathError{Op: "access", Path: f.physical, Err: errors.Join(err, serr)}
	}
	return notWritable(f.physical, st, os.Getuid(), err)
}

// KeepsExec implements Reader.
func (d *Disk) KeepsExec(p LogicalPath, seen fs.FileMode) bool {
	at, err := d.Physical(p)
	return err != nil || d.bits.Kept(at, seen)
}

func notWritable(folder string, st *unix.Stat_t, uid int, err error) error {
	switch {
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("folder %s lies on a read-only file system: %w; mount it writable, or choose another place", folder, err)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		next := fmt.Sprintf("run aisync as user %d, or give the folder to this user: chown %d %s (as root)", st.Uid, uid, folder)
		if int(st.Uid) == uid {
			next = "run: chmod u+wx " + folder
		}
		return fmt.Errorf("folder %s is not writable for user %d (owner %d, group %d, mode %04o): %w; %s", folder, uid, st.Uid, st.Gid, st.Mode&0o7777, err, next)
	}
	return &fs.PathError{Op: "access", Path: folder, Err: err}
}

// ReadOnly returns r without its writing methods, if it has any.
func ReadOnly(r Reader) Reader { return readOnly{r} }

type readOnly struct{ r Reader }

func (o readOnly) Lstat(p LogicalPath) (fs.FileInfo, error) { return o.r.Lstat(p) }
func (o readOnly) ReadFile(p LogicalPath) ([]byte, error)   { return o.r.ReadFile(p) }
func (o readOnly) Open(p LogicalPath) (*os.File, error)     { return o.r.Open(p) }
func (o readOnly) Digest(p LogicalPath) (string, fs.FileMode, error) {
	return o.r.Digest(p)
}
func (o readOnly) ReadDir(p LogicalPath) ([]fs.DirEntry, error) { return o.r.ReadDir(p) }
func (o readOnly) Readlink(p LogicalPath) (string, error)       { return o.r.Readlink(p) }
func (o readOnly) Physical(p LogicalPath) (string, error)       { return o.r.Physical(p) }
func (o readOnly) Writable(p LogicalPath) error                 { return o.r.Writable(p) }
func (o readOnly) KeepsExec(p LogicalPath, seen fs.FileMode) bool {
	return o.r.KeepsExec(p, seen)
}
