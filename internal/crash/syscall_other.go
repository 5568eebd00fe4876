//go:build !linux

package crash

import (
	"errors"
	"syscall"
)

// FailSyscalls makes system calls fail, on Linux alone.
func FailSyscalls(syscall.Errno, ...string) error { return errors.ErrUnsupported }
