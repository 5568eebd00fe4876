// Package main is the aisync command: it wires flags, files and terminals to
// the engine, and decides nothing that the engine decides. One file is one
// command. Start reading at run, then setup.go and apply.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"aisync.dev/aisync/agents/run/worker"
	"aisync.dev/aisync/agents/task/sandbox"
	"aisync.dev/aisync/cmd/aisync/quick"
	quickledger "aisync.dev/aisync/cmd/aisync/quick/ledger"
)

func main() { os.Exit(ownProcess(nil)) }

// ownProcess is run for a process that does nothing else.
func ownProcess(g gate) int {
	// Most commands are over before the heap has grown to 16 MB: collecting from
	// 4 MB on, which is what 100 means, costs a tenth of their time.
	debug.SetGCPercent(400)
	return runThrough(g, os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ())
}

// run is the whole program: argv with the name it was called by, three streams
// and an environment in, an exit code out. Nothing else of the process is used
// but its working folder, its signals and its file system.
func run(argv []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	return runThrough(nil, argv, stdin, stdout, stderr, environ)
}

func runThrough(g gate, argv []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) (code int) {
	if len(argv) > 3 && argv[1] == aloneCommand {
		return alone(argv[2:], environ)
	}
	if len(argv) == 2 && argv[1] == rehearseCommand {
		return rehearseHere(stdin, stdout)
	}
	if sandbox.IsInside(argv) {
		return sandbox.Main(argv)
	}
	if len(argv) == 4 && argv[1] == keepCommand {
		return worker.Keep(argv[2], argv[3])
	}
	a := &app{in: stdin, out: onScreen(stdout), err: onScreen(stderr), env: newEnv(environ), argv0: filepath.Base(argv[0]), gate: g}
	defer func() {
		if p := recover(); p != nil {
			// Go's own code for a panic, 2, would read as drift.
			a.crashed(p, debug.Stack())
			code = a.codeOf(exitError, nil)
		}
	}()
	ctx, stop := untilSignal()
	defer stop()
	a.signals = ctx

	if c := quickledger.Crashed; c != nil {
		a.crashed(c.Cause, c.Stack)
		return exitError
	}
	if a.argv0 == "ensemble" { // agents call it all the time: the tree of commands costs more than a claim
		return a.ensemble(ctx, argv[1:], false)
	}
	root := a.rootCommand()
	words := expandLink(a.argv0, argv[1:])
	path, _ := splitCommand(root, words)
	a.asked = strings.Join(path, " ")
	args, err := a.commandLine(root, words)
	if err == nil {
		a.args = args
		if completing(args) {
			a.completions(root)
		}
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	var s signalled
	if errors.As(context.Cause(ctx), &s) && err != nil && !errors.As(err, new(programEnded)) {
		err = s
	}
	code = a.codeOf(a.report(err), err)
	a.log("exit", "code", code)
	return code
}

// codeOf is the exit code that a command gives an error: for roster, whose 0 and
// 1 are answers, each is the one that says that there is none.
func (a *app) codeOf(code int, err error) int {
	if a.asked == "roster" && code != exitOK && !errors.As(err, new(exitWith)) {
		return quick.Unknown
	}
	return code
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ sig syscall.Signal }

func (s signalled) Error() string { return fmt.Sprintf("interrupted (%s)", s.sig) }

// untilSignal returns a context that the first SIGINT or SIGTERM ends, so that
// an apply can flush its journal. A second one ends the process.
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-ch:
			signal.Stop(ch)
			cancel(signalled{sig.(syscall.Signal)})
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel(nil)
	}
}
