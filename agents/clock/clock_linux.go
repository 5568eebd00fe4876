package clock

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bootID is constant while this process lives.
var bootID = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		host, _ := os.Hostname()
		machine = []byte(host)
	}
	return bootName(string(machine), string(boot))
})

func sinceBoot() (string, time.Duration) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return "", 0
	}
	return bootID(), time.Duration(t.Nano())
}
