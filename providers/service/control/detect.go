package control

import (
	"os"
	"runtime"
)

// Detect returns the service manager of this machine. InChroot means that
// another system started this one: what aisync writes takes effect once it
// boots itself.
func Detect() (k Kind, inChroot bool) {
	switch {
	case runtime.GOOS == "darwin":
		return Launchd, false
	case changedRoot():
		return Systemd, true
	case exists("/run/systemd/system"): // sd_booted(3)
		return Systemd, false
	}
	return Own, false
}

// changedRoot reports whether / differs from the first process's. Only root may
// look; for others the answer is no. A system without /proc does not run yet.
func changedRoot() bool {
	if runtime.GOOS == "linux" && !exists("/proc/self") {
		return true
	}
	here, err := os.Stat("/")
	if err != nil {
		return false
	}
	first, err := os.Stat("/proc/1/root/.")
	return err == nil && !os.SameFile(here, first)
}

// Journaled reports whether systemd's journal keeps the output of this
// machine's services.
func Journaled() bool { return exists("/run/systemd/journal/stdout") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
