package ensemble

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// arrivals reports changes in folders, by inotify.
type arrivals struct {
	file *os.File
	done <-chan struct{}
	over chan struct{}
}

func newArrivals(done <-chan struct{}) (*arrivals, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	a := &arrivals{os.NewFile(uintptr(fd), "inotify"), done, make(chan struct{})}
	go func() {
		select {
		case <-done:
			_ = a.file.SetReadDeadline(time.Unix(1, 0)) // ends the wait
		case <-a.over:
		}
	}()
	return a, nil
}

func (a *arrivals) close() {
	close(a.over)
	a.file.Close()
}

// watch adds the folders that exist. One that is watched already stays so.
func (a *arrivals) watch(folders []string) {
	conn, err := a.file.SyscallConn()
	if err != nil {
		return // wait looks again after a time
	}
	_ = conn.Control(func(fd uintptr) {
		for _, f := range folders {
			_, _ = unix.InotifyAddWatch(int(fd), f, unix.IN_MODIFY|unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
		}
	})
}

// wait returns after a change, or after most; false where the person ended it.
func (a *arrivals) wait(most time.Duration) bool {
	_ = a.file.SetReadDeadline(time.Now().Add(most))
	select {
	case <-a.done:
		return false
	default:
	}
	_, err := a.file.Read(make([]byte, 64<<10))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		time.Sleep(min(most, time.Second)) // no reports: look once a second
	}
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}
