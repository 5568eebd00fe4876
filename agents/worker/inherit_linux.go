package worker

import (
	"errors"

	"golang.org/x/sys/unix"
)

// inheritOrphans makes this process the parent of the orphans below it, whatever
// their session: prctl(2).
func inheritOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// childless reports whether this process has no child, ended ones included. One
// that inherits orphans then has no descendant.
func childless() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return errors.Is(err, unix.ECHILD)
}
