// Package filelock locks open files between processes with flock(2). The locks
// are advisory, end with the process, and stay while a child with an inherited
// file lives. It locks files, not paths, so that callers can confine how they
// open them. Call Wait or Try.
package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Kind is what other processes may do meanwhile.
type Kind int

const (
	Exclusive Kind = unix.LOCK_EX // nothing
	Shared    Kind = unix.LOCK_SH // hold a lock of the same kind
)

// ErrBusy reports that another process holds the lock.
var ErrBusy = errors.New("another process holds the lock")

// Try takes the lock of f, or returns ErrBusy.
func Try(f *os.File, k Kind) error {
	err := flock(int(f.Fd()), int(k)|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}

// Wait takes the lock of f. It waits in the kernel, which serves waiters in
// order, until ctx ends, and then returns the cause: f can then only be closed.
// The file may have been replaced meanwhile: see Current.
func Wait(ctx context.Context, f *os.File, k Kind) error {
	if err := Try(f, k); !errors.Is(err, ErrBusy) {
		return err
	}
	if ctx.Done() == nil {
		return flock(int(f.Fd()), int(k))
	}
	// A wait in the kernel cannot be cancelled: it continues with a descriptor
	// that the caller cannot close.
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

// WaitFor is Wait with a timeout, after which it returns ErrBusy.
func WaitFor(timeout time.Duration, f *os.File, k Kind) error {
	ctx, stop := context.WithTimeoutCause(context.Background(), timeout, ErrBusy)
	defer stop()
	return Wait(ctx, f, k)
}

// Unlock releases the lock and closes f. Closing alone would not release it
// while a program is being started, which has a copy of f until it runs.
func Unlock(f *os.File) error {
	return errors.Join(flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

// Current reports whether path, without following a link, still names f. Where a
// holder may replace or remove the file, call it after taking the lock, and lock
// the new file if it is false.
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

// flock is flock(2), retried after signals.
func flock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
