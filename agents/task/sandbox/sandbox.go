// Package sandbox runs commands that nobody watches, so that they reach a work
// tree and nothing else: the rest of the file system is read-only, the home of
// the person and what listens in /run are not there, no network but what was
// asked for, and no process outlives its command. It decides nothing about what
// was written. Start reading at Box.Run.
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

// Way is how commands are kept in.
type Way string

// The ways, in the order in which Find tries them.
const (
	Namespaces Way = "namespaces" // of the kernel, set up by this program itself
	Bubblewrap Way = "bwrap"
	None       Way = "none" // not at all: only processes are kept from outliving their command
)

// ErrNone says that a machine has no way to keep a command in.
var ErrNone = errors.New("no sandbox can be had on this machine")

// Box is where the commands of one task run. Paths are absolute and without
// links. The zero Way runs nothing.
type Box struct {
	Way     Way
	Tree    string   // the work tree: commands may write below it
	Shield  []string // files and folders below Tree that they may not write
	Scratch string   // a folder of the task's own: HOME and /tmp lie in it
	Home    string   // of the person; it is not seen, and neither are other homes
	Show    []string // what is seen, read-only, though it lies in a place that is not
	Hide    []string // more places that are not seen
	Instead []Stand  // files that are seen in place of others, read-only; not where Way is None
	Network bool     // the whole of it
	Doors   []Door   // where there is no network, the ways out
}

// Stand is a file that stands in the place of another.
type Stand struct{ File, At string }

// Door is a port on the loopback of a box that leads to an address outside.
type Door struct {
	Port int
	To   string // host:port
}

// Isolated reports whether commands have a network of their own, with nothing
// in it but loopback.
func (b Box) Isolated() bool { return b.Way != None && !b.Network }

// Address is where a command of the box reaches what is behind d.
func (b Box) Address(d Door) string {
	if b.Isolated() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.Port))
	}
	return d.To
}

// Command is what runs in a box.
type Command struct {
	Argv    []string
	Dir     string   // below Tree; "" is Tree
	Env     []string // besides what every command gets; wins over it
	Stdin   io.Reader
	Log     io.Writer     // gets what is printed, as it is printed, up to LogLimit
	Timeout time.Duration // 0: none but the context's
	Keep    int           // bytes of each stream that Result keeps, 0: 64 KiB
	Frozen  bool          // Tree is read-only as well
}

// LogLimit is how much of a command's output goes to its log.
const LogLimit = 1 << 20

// Result is how a command ended.
type Result struct {
	Exit           int // 128 + signal where one ended it; -1 after a timeout
	Stdout, Stderr string
	TimedOut       bool
	Took           time.Duration
}

// Shell is the command that a line of shell is.
func Shell(line string) []string { return []string{"sh", "-c", line} }

// Run runs a command and waits until it and all that it started have ended:
// what is left of them is killed. An error says that it could not be run, or
// that ctx ended; that it failed is told by its exit code.
func (b Box) Run(ctx context.Context, c Command) (Result, error) {
	if len(c.Argv) == 0 {
		return Result{}, errors.New("run a command: there is none")
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
