package control

import (
	"os"
	"runtime"
)

// Detect says what runs services on this machine, as it is now. InChroot says
// that this is a system that something else has started: what it has written
// holds once it is booted itself.
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

// changedRoot reports whether / is another folder for this process than for
// the first one. Only root may look; for others it is not. A system without
// /proc is none that runs: somebody has just laid it out.
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

// Journaled reports whether what services of this machine write is kept in
// the journal of systemd.
func Journaled() bool { return exists("/run/systemd/journal/stdout") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
