// Package ledger answers the short commands of ensemble before the heavy
// packages initialise: agents claim and note all the time, and those packages
// take longer to initialise than a claim takes. It adds nothing to package
// ensemble. Call Do; package quick explains the order of initialisation.
package ledger

import (
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"syscall"

	"aisync.dev/aisync/agents/ensemble"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/quick"
)

// Crashed is a panic of Do, for the rest of the program to report; nil if there
// was none.
var Crashed *Crash

// Crash is a panic.
type Crash struct {
	Cause any
	Stack []byte
}

func init() {
	defer func() {
		if cause := recover(); cause != nil {
			stack := make([]byte, 64<<10)
			Crashed = &Crash{cause, stack[:runtime.Stack(stack, false)]}
		}
	}()
	if len(os.Args) > 0 && path.Base(os.Args[0]) == "ensemble" && !shown(os.Stdout) && !shown(os.Stderr) {
		if code, ok := Do(os.Args[1:], os.Getenv, os.Stdout, os.Stderr); ok {
			os.Exit(code)
		}
	}
}

// shown reports whether f may be a terminal: the whole program makes foreign
// text safe for one, and a person does not notice these milliseconds.
func shown(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Do executes the words if they are a short command, and returns the exit code.
// Otherwise ok is false and nothing has been done.
func Do(words []string, getenv func(string) string, out, err io.Writer) (code int, ok bool) {
	if !ensemble.Short(words) {
		return 0, false
	}
	// Finish what was started in spite of an interrupt: it takes no time.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM)
	return ensemble.Run(ensemble.Program{Args: words, In: os.Stdin, Out: out, Err: err, Getenv: getenv, Dir: WorkingFolder(), Table: process.System(), Runtimes: catalog.Programs, Leases: func(root string) ledger.Leases {
		return lease.Of(process.System(), root, catalog.Programs, func() keeper.Caller { return quick.Call{Getenv: getenv}.Caller(catalog.Programs())() })
	}}), true
}

// WorkingFolder returns the process's working folder, without links: the paths
// in a ledger must not depend on how the shell got there.
func WorkingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}
