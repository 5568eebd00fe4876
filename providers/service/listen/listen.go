// Package listen tells which process listens on a TCP port of this machine, and
// whether it runs in a certain unit or below a certain process. It opens no
// socket. Start reading at On.
package listen

import (
	"fmt"
	"net/netip"
)

// Listener is one TCP socket that accepts connections.
type Listener struct {
	Address netip.AddrPort
	UID     int    // of the user who opened it
	PID     int    // the first process that holds it; 0 if that may not be seen
	Program string // its name

	pids []int // of all processes that hold it
}

// String names the listener for a person.
func (l Listener) String() string {
	if l.PID == 0 {
		return fmt.Sprintf("a process of the user with id %d", l.UID)
	}
	return fmt.Sprintf("%s (process %d)", l.Program, l.PID)
}
