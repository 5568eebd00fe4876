// Package ledger does the short commands of ensemble before the rest of the
// program has begun: agents claim and note all the time, and the packages that a
// claim does without begin for longer than it takes. It adds nothing to package
// ensemble. Start reading at Do; package quick says how it comes to be early.
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
)

// Crashed is how Do failed where it should not, for the rest of the program to
// report; nil if it did not.
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

// shown reports whether f may be a terminal: what others wrote is made safe for
// one by the whole program, and a person does not wait for these milliseconds.
func shown(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Do does what the words say, if that is short, and returns the exit code.
// Otherwise ok is false and nothing has been done.
func Do(words []string, getenv func(string) string, out, err io.Writer) (code int, ok bool) {
	if !ensemble.Short(words) {
		return 0, false
	}
	// What was begun is ended, whoever interrupts it: it takes no time.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM)
	return ensemble.Run(ensemble.Program{Args: words, Out: out, Err: err, Getenv: getenv, Dir: WorkingFolder()}), true
}

// WorkingFolder is the folder that the process stands in, without links: what
// a ledger calls a path must not depend on how the shell got there.
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
