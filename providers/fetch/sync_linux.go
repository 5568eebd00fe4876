package fetch

import (
	"os"
	"syscall"
)

// syncData makes the bytes and the length of f durable.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
