// Package sandbox runs unattended commands so that they reach only a work tree:
// of the rest of the file system they see, read-only, the system's programs and
// libraries, the programs that PATH names, and what a Box shows; only the
// requested network is there, and no process outlives its command. It never judges what was written. Call Find, then Box.Run.
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
	Way     Way      `json:"way"`
	Tree    string   `json:"tree"`              // the work tree: commands may write below it
	Shield  []string `json:"shield,omitempty"`  // files and folders below Tree that are read-only
	Scratch string   `json:"scratch"`           // the task's scratch folder, with HOME and /tmp
	Home    string   `json:"home,omitempty"`    // of the person, for the places of toolchains
	Show    []string `json:"show,omitempty"`    // further visible paths, read-only
	Hide    []string `json:"hide,omitempty"`    // folders that are hidden inside visible ones
	Instead []Stand  `json:"instead,omitempty"` // files that replace others, read-only; not where Way is None
	Network bool     `json:"network,omitempty"` // the whole network
	Doors   []Door   `json:"doors,omitempty"`   // ways out where there is no network
}

// Stand is a file that replaces another.
type Stand struct {
	File string `json:"file"`
	At   string `json:"at"`
}

// Door is a port on a box's loopback that is forwarded to an address outside.
type Door struct {
	Port int    `json:"port"`
	To   string `json:"to"` // host:port
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
	Log     io.Writer     // gets the output as it is printed, up to Limit
	Limit   int64         // bytes of output for Log, 0: LogLimit
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
	if c.Limit == 0 {
		c.Limit = LogLimit
	}
	return b.run(ctx, c)
}
