// Package netjail runs a program in a network namespace, in which there is
// nothing but a loopback and, at one port of it, a way to one server outside. It
// keeps a program from nothing but the network. Call Program.Run; a program that
// uses it begins with IsInside and Main, for it is started again in the jail.
package netjail

import "os"

// Program is what runs in a jail.
type Program struct {
	Argv []string
	Env  []string
	Dir  string
	// To is the server that can be reached, as host:port: it answers at the same
	// port of the loopback inside. "" is none.
	To string
	// Must says why the program may not run where the system has no jail for it,
	// which is then ErrNone; "" lets it run as usual.
	Must string
	// Sent and Got see what goes to the server and comes back, in pieces. They may
	// be nil, and are called from other goroutines.
	Sent, Got func([]byte)
}

// word is the first argument of this program when it is called to become
// another one in a jail.
const word = "__alone"

// IsInside reports whether argv is a call of Main.
func IsInside(argv []string) bool { return len(argv) > 3 && argv[1] == word }

// Main is what this program does when IsInside: it makes the way out and becomes
// the program. It returns an exit code, on failure only.
func Main(argv []string) int { return become(argv[2], argv[3:], os.Environ()) }
