//go:build !linux

package crash

import (
	"errors"
	"syscall"
)

// FailSyscalls makes system calls fail, only on Linux.
func FailSyscalls(syscall.Errno, ...string) error { return errors.ErrUnsupported }
