// Package netjail runs a program in a network namespace with only a loopback
// and, at one of its ports, a forwarder to one server outside. It restricts
// nothing but the network. Call Program.Run; a program that uses it must call
// IsInside and Main first, because it is started again in the jail.
package netjail

import "os"

// Program is the program to jail.
type Program struct {
	Argv []string
	Env  []string
	Dir  string
	// To is the reachable server, host:port, at the same port of the loopback
	// inside; "": none.
	To string
	// Must is why the program must not run unjailed: without a jail Run then
	// returns ErrNone; "" runs it unjailed.
	Must string
	// Sent and Got receive the forwarded bytes, in pieces. They may be nil, and
	// are called from other goroutines.
	Sent, Got func([]byte)
}

// jailCommand is the first argument of this program inside a jail.
const jailCommand = "__alone"

// IsInside reports whether argv is a call of Main.
func IsInside(argv []string) bool { return len(argv) > 3 && argv[1] == jailCommand }

// Main sets up the forwarder and executes the program, if IsInside. It returns
// an exit code only on failure.
func Main(argv []string) int { return become(argv[2], argv[3:], os.Environ()) }
