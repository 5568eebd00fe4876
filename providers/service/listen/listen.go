// Package listen tells who listens on a TCP port of this machine, and whether
// that is a certain unit or a child of a certain process. It asks nobody and
// opens no socket. Start reading at On.
package listen

import (
	"fmt"
	"net/netip"
)

// Listener is one TCP socket that takes connections.
type Listener struct {
	Address netip.AddrPort
	UID     int    // of the user who opened it
	PID     int    // the first process that holds it; 0 where that may not be seen
	Program string // its name

	pids []int // all that hold it
}

// String names whoever listens, for a person.
func (l Listener) String() string {
	if l.PID == 0 {
		return fmt.Sprintf("a process of the user with id %d", l.UID)
	}
	return fmt.Sprintf("%s (process %d)", l.Program, l.PID)
}
