// Package hook answers the hooks of agent programs before the heavy packages
// initialise: a program waits for its hooks at every call of a tool. It adds
// nothing to package agents/hook. Package tool does the same for the calls that
// need a parser of command lines, which begins later. Call Process; package quick
// explains the order of initialisation.
package hook

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/agents/hook"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

func init() { Process(nil) }

// call is a call of a hook that Process has read and not answered, because its
// input has a command line.
var call struct {
	runtime spec.Runtime
	input   []byte
}

// Process ends this process with the answer if its arguments call a hook of an
// embedded runtime in the plain form. Without shell it leaves alone, for a second
// call with one, what needs a parser of command lines; otherwise what it does not
// answer it has not read.
func Process(shell hook.Shell) {
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "AISYNC_CLI_ARGS") || strings.HasPrefix(kv, "AISYNC_LOG=") {
			return // more arguments, or a log to begin
		}
	}
	if len(os.Args) != 5 || os.Args[1] != "hook" || os.Args[3] != "--runtime" || !hook.Known(os.Args[2]) {
		return
	}
	event, runtimes := os.Args[2], catalog.Programs()
	if shell == nil {
		i := slices.IndexFunc(runtimes, func(r spec.Runtime) bool { return r.ID == os.Args[4] })
		if i < 0 {
			return
		}
		call.runtime = runtimes[i]
	} else if call.runtime.ID == "" {
		return
	}
	in := io.Reader(os.Stdin)
	if shell != nil {
		in = bytes.NewReader(call.input)
	} else if event == "PreToolUse" {
		text, err := io.ReadAll(io.LimitReader(os.Stdin, hook.MaxInput))
		if err == nil && hook.NeedsShell(event, call.runtime, text) {
			call.input = text
			return
		}
		in = io.MultiReader(bytes.NewReader(text), failing{err})
	}
	// Finish what was started in spite of an interrupt: it takes no time.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM)
	os.Exit(hook.Call{
		Event: event, Runtime: call.runtime, Runtimes: runtimes, Getenv: os.Getenv, Dir: hook.WorkingFolder(),
		In: in, Out: os.Stdout, Err: os.Stderr, Table: process.System(), Shell: shell, Program: hook.ThisProgram(), Now: time.Now(),
	}.Answer())
}

// failing ends an input with the error that ended the reading of it.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, cmp.Or(f.err, io.EOF) }
