package worker

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// bootID is the kernel's id of this boot: random(4).
var bootID = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
})

// signal signals the process of an identity and no other that may reuse its
// number: it checks after pidfd_open(2). os.ErrProcessDone: it has gone.
func (id Identity) signal(t process.Table, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return os.ErrProcessDone
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // older than 5.3, or a sandbox
		return id.signalByNumber(t, sig)
	case err != nil:
		return fmt.Errorf("hold process %d: %w", id.PID, err)
	}
	defer unix.Close(fd)
	if err := id.mayBeSignalled(t); err != nil {
		return err
	}
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
