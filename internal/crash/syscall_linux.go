package crash

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are the system calls that FailSyscalls supports.
var calls = map[string]uint32{
	"fgetxattr": unix.SYS_FGETXATTR, "flistxattr": unix.SYS_FLISTXATTR, "getdents64": unix.SYS_GETDENTS64,
	"openat": unix.SYS_OPENAT, "readlinkat": unix.SYS_READLINKAT,
}

// FailSyscalls makes every system call of these names fail with errno on the
// calling goroutine's thread, which stays locked to it and ends with it, and in
// all that it starts. It needs no privilege. It returns an error, and fails no
// call, if the kernel has no seccomp filters.
func FailSyscalls(errno syscall.Errno, names ...string) error {
	runtime.LockOSThread()
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the system call's number
	for _, name := range names {
		n, ok := calls[name]
		if !ok {
			return fmt.Errorf("unknown system call %q", name)
		}
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: n},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("seccomp filter: %w", err)
	}
	return nil
}
