// Package sandbox runs unattended commands so that they reach only a work tree:
// the rest of the file system is read-only, the person's home and the sockets in
// /run are hidden, only the requested network is there, and no process outlives
// its command. It never judges what was written. Call Find, then Box.Run.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"time"
)

// Way is a method of confinement.
type Way string

// The ways, in the order in which Find tries them.
const (
	Namespaces Way = "namespaces" // of the kernel, set up by this program
	Bubblewrap Way = "bwrap"
	None       Way = "none" // unconfined: only no process outlives its command
)

// ErrNone reports a machine without a way to confine a command.
var ErrNone = errors.New("no sandbox on this machine")

// Box is the environment of one task's commands. Paths are absolute and without
// links. The zero Way runs nothing.
type Box struct {
	Way     Way
	Tree    string   // the work tree: commands may write below it
	Shield  []string // files and folders below Tree that are read-only
	Scratch string   // the task's scratch folder, with HOME and /tmp
	Home    string   // of the person; hidden, like other homes
	Show    []string // read-only paths that stay visible inside hidden ones
	Hide    []string // more hidden paths
	Instead []Stand  // files that replace others, read-only; not where Way is None
	Network bool     // the whole network
	Doors   []Door   // ways out where there is no network
}

// Stand is a file that replaces another.
type Stand struct{ File, At string }

// Door is a port on a box's loopback that is forwarded to an address outside.
type Door struct {
	Port int
	To   string // host:port
}

// Isolated reports whether commands have a separate network with only loopback.
func (b Box) Isolated() bool { return b.Way != None && !b.Network }

// Address returns the address in the box at which a command reaches d.
func (b Box) Address(d Door) string {
	if b.Isolated() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.Port))
	}
	return d.To
}

// Command is one command to run in a box.
type Command struct {
	Argv    []string
	Dir     string   // below Tree; "" is Tree
	Env     []string // added to every command's environment, with precedence
	Stdin   io.Reader
	Log     io.Writer     // gets the output as it is printed, up to LogLimit
	Timeout time.Duration // 0: none but the context's
	Keep    int           // bytes of each stream that Result keeps, 0: 64 KiB
	Frozen  bool          // Tree is read-only as well
}

// LogLimit is how much of a command's output its log gets.
const LogLimit = 1 << 20

// Result is how a command ended.
type Result struct {
	Exit           int // 128 + signal where one ended it; -1 after a timeout
	Stdout, Stderr string
	TimedOut       bool
	Took           time.Duration
}

// Shell returns the command for a line of shell.
func Shell(line string) []string { return []string{"sh", "-c", line} }

// Run runs a command and waits until it and all its descendants have ended: it
// kills those that remain. It returns an error if the command could not run, or
// ctx ended; a failure of the command is its exit code.
func (b Box) Run(ctx context.Context, c Command) (Result, error) {
	if len(c.Argv) == 0 {
		return Result{}, errors.New("command required")
	}
	if b.Way == "" {
		return Result{}, fmt.Errorf("run %s: %w", c.Argv[0], ErrNone)
	}
	for _, p := range []string{b.Tree, b.Scratch} {
		if !filepath.IsAbs(p) {
			return Result{}, fmt.Errorf("run %s: a box needs a work tree and a scratch folder, got %q", c.Argv[0], p)
		}
	}
	if c.Dir == "" {
		c.Dir = b.Tree
	}
	if c.Keep == 0 {
		c.Keep = 64 << 10
	}
	return b.run(ctx, c)
}
