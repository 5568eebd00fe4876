package fsys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// op is the gate of every mutating system call.
func (d *Disk) op(name, path string, call func() error) error {
	if d.hook != nil {
		if err := d.hook(Op{Name: name, Path: path}); err != nil {
			return &fs.PathError{Op: name, Path: path, Err: err}
		}
	}
	if err := again(call); err != nil {
		return &fs.PathError{Op: name, Path: path, Err: err}
	}
	return nil
}

// again repeats a system call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// write writes all of b to fd.
func (d *Disk) write(fd int, path string, b []byte) error {
	err := d.op("write", path, func() error { return writeAll(fd, b) })
	if errors.Is(err, io.ErrShortWrite) {
		_ = writeAll(fd, b[:len(b)/2]) // the hook's error is the one to report
	}
	return err
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		b = b[n:]
	}
	return nil
}

// writer makes every chunk copied to fd an op.
type writer struct {
	d    *Disk
	fd   int
	path string
}

func (w writer) Write(b []byte) (int, error) {
	if err := w.d.write(w.fd, w.path, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// reader reads from fd.
type reader struct{ fd int }

func (r reader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	var n int
	err := again(func() (err error) { n, err = unix.Read(r.fd, b); return err })
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func openat(dir int, name string, flags int, mode uint32) (int, error) {
	var fd int
	err := again(func() (err error) { fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode); return err })
	return fd, err
}

func lstatat(dir int, name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return &st, err
}

func readlinkat(dir int, name string) (string, error) {
	for size := 256; ; size *= 2 {
		b := make([]byte, size)
		var n int
		err := again(func() (err error) { n, err = unix.Readlinkat(dir, name, b); return err })
		if err != nil {
			return "", err
		}
		if n < size {
			return string(b[:n]), nil
		}
	}
}

// sync makes the bytes of fd survive a loss of power.
func (d *Disk) sync(fd int, path string) error {
	return d.op("fsync", path, func() error { return fullSync(fd) })
}

func (d *Disk) unlink(f *folder, name string) error {
	return d.op("unlink", f.path(name), func() error { return unix.Unlinkat(f.fd, name, 0) })
}

// exchange swaps two entries of f in one step.
func (d *Disk) exchange(f *folder, a, b string) error {
	return d.op("exchange", f.path(b), func() error { return exchangeat(f.fd, a, b) })
}

// renameNew renames to a name that must not exist. If the file system cannot do
// that in one step, it links and unlinks, which does not overwrite either;
// without hard links it checks first and records the weaker guarantee.
func (d *Disk) renameNew(from *folder, a string, to *folder, b string) error {
	err := d.op("rename", to.path(b), func() error { return renameNewat(from.fd, a, to.fd, b) })
	if !unsupported(err) {
		return err
	}
	err = d.op("link", to.path(b), func() error { return unix.Linkat(from.fd, a, to.fd, b, 0) })
	if err == nil {
		if err = d.unlink(from, a); err != nil {
			return errors.Join(err, d.unlink(to, b))
		}
		return nil
	}
	if !unsupported(err) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EMLINK) {
		return err
	}
	d.weaken(to)
	if _, err := lstatat(to.fd, b); err == nil {
		return fmt.Errorf("%s: %w", to.path(b), fs.ErrExist)
	}
	return d.op("rename", to.path(b), func() error { return unix.Renameat(from.fd, a, to.fd, b) })
}

// unsupported reports whether a file system or kernel lacks the call.
func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EOPNOTSUPP)
}

// Caught turns a panic into an error, deferred in a goroutine whose result is
// awaited: Go would otherwise end the program at once, half-way, with a
// misleading exit code.
func Caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("bug in aisync: %v\n%s", p, debug.Stack())
	}
}
