// Package filelock locks open files against other processes, by flock(2): every
// process must ask, the end of a process ends its locks, and a child that
// inherits the file holds the lock as long as it lives. Files are locked and not
// paths, so a caller opens them as confined as it likes. Start reading at Wait.
package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Kind is what others may do meanwhile.
type Kind int

const (
	Exclusive Kind = unix.LOCK_EX // nothing
	Shared    Kind = unix.LOCK_SH // hold the same kind
)

// ErrBusy says that another process holds the lock.
var ErrBusy = errors.New("another process holds the lock")

// Try takes the lock of f, or returns ErrBusy.
func Try(f *os.File, k Kind) error {
	err := flock(int(f.Fd()), int(k)|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}

// Wait takes the lock of f. It waits in the kernel, which wakes the waiting in
// turn, until ctx ends, and then returns its cause: f is good for nothing then
// but to be closed. The file may have been replaced meanwhile: see Current.
func Wait(ctx context.Context, f *os.File, k Kind) error {
	if err := Try(f, k); !errors.Is(err, ErrBusy) {
		return err
	}
	if ctx.Done() == nil {
		return flock(int(f.Fd()), int(k))
	}
	// Nothing ends a wait in the kernel: it goes on with a descriptor that the
	// caller cannot close below it.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	had := make(chan error, 1)
	go func() { had <- flock(fd, int(k)) }()
	select {
	case err := <-had:
		_ = unix.Close(fd)
		return err
	case <-ctx.Done():
		go func() {
			if <-had == nil {
				_ = flock(fd, unix.LOCK_UN)
			}
			_ = unix.Close(fd)
		}()
		return context.Cause(ctx)
	}
}

// WaitFor is Wait for some time at most, after which it returns ErrBusy.
func WaitFor(timeout time.Duration, f *os.File, k Kind) error {
	ctx, stop := context.WithTimeoutCause(context.Background(), timeout, ErrBusy)
	defer stop()
	return Wait(ctx, f, k)
}

// Unlock ends the lock and closes f. Closing alone would not end it where a
// program is just being started: until it runs, it has a copy of f.
func Unlock(f *os.File) error {
	return errors.Join(flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// Current reports whether path, which is not followed if it is a link, still
// names f. Where a holder may replace or remove the file, that must be asked
// when the lock is had, and the new file be locked.
func Current(f *os.File, path string) (bool, error) {
	ours, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(ours, named), err
}

// flock is flock(2), again where a signal interrupts it.
func flock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
