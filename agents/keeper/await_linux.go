package keeper

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// await waits for the end of a process, at most for a time, and reports whether
// it still runs.
func await(t process.Table, pid int, start uint64, most time.Duration) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil { // it has ended, or the kernel is older than 5.3
		if presence(t, pid, start) == Absent || errors.Is(err, unix.ESRCH) {
			return false
		}
		return poll(t, pid, start, most)
	}
	defer unix.Close(fd)
	if presence(t, pid, start) == Absent { // its number is another process's now
		return false
	}
	end := time.Now().Add(most)
	for {
		left := time.Until(end)
		if left <= 0 {
			return true
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		switch {
		case err == nil && n > 0:
			return false
		case err != nil && !errors.Is(err, unix.EINTR):
			return poll(t, pid, start, left)
		}
	}
}
