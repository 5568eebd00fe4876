// Package main is the aisync command: it wires flags, files and terminals to
// the engine, and decides nothing that the engine decides. One file is one
// command. Start reading at run, then setup.go and apply.go.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"aisync.dev/aisync/agents/run/worker"
	"aisync.dev/aisync/agents/task/sandbox"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/cmd/aisync/internal/command/message"
	runcmd "aisync.dev/aisync/cmd/aisync/internal/command/run"
	quickledger "aisync.dev/aisync/cmd/aisync/quick/ledger"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/netjail"
)

func main() { os.Exit(ownProcess(nil)) }

// ownProcess is run for a process that does nothing else.
func ownProcess(g stack.Gate) int {
	// Most commands are over before the heap has grown to 16 MB: collecting from
	// 4 MB on, which is what 100 means, costs a tenth of their time.
	debug.SetGCPercent(400)
	return runThrough(g, os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ())
}

// runThrough is the whole program: argv with the name it was called by, three
// streams and an environment in, an exit code out. Nothing else of the process
// is used but its working folder, its signals and its file system.
func runThrough(g stack.Gate, argv []string, stdin io.Reader, stdout, stderr io.Writer, variables []string) (code int) {
	if netjail.IsInside(argv) {
		return netjail.Main(argv)
	}
	if len(argv) == 2 && argv[1] == cli.RehearseCommand {
		return cli.RehearseHere(stdin, stdout)
	}
	if sandbox.IsInside(argv) {
		return sandbox.Main(argv)
	}
	if len(argv) == 4 && argv[1] == runcmd.KeepCommand {
		return worker.Keep(argv[2], argv[3])
	}
	a := &cli.App{In: stdin, Out: cli.OnScreen(stdout), Err: cli.OnScreen(stderr), Env: environ.New(variables), Argv0: filepath.Base(argv[0]), Gate: g}
	defer func() {
		if p := recover(); p != nil {
			// Go's own code for a panic, 2, would read as drift.
			a.Crashed(p, debug.Stack())
			code = a.CodeOf(cli.ExitError, nil)
		}
	}()
	ctx, stop := cli.UntilSignal()
	defer stop()
	a.Signals = ctx

	if c := quickledger.Crashed; c != nil {
		a.Crashed(c.Cause, c.Stack)
		return cli.ExitError
	}
	if a.Argv0 == "ensemble" { // agents call it all the time: the tree of commands costs more than a claim
		return message.Ensemble(ctx, a, argv[1:], false)
	}
	root := rootCommand(a)
	words := cli.ExpandLink(a.Argv0, argv[1:])
	path, _ := cli.SplitCommand(root, words)
	a.Asked = strings.Join(path, " ")
	args, err := a.CommandLine(root, words)
	if err == nil {
		a.Args = args
		if cli.Completing(args) {
			a.Completions(root)
		}
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	var s cli.Signalled
	if errors.As(context.Cause(ctx), &s) && err != nil && !errors.As(err, new(launchcmd.ProgramEnded)) {
		err = s
	}
	code = a.CodeOf(a.Report(err), err)
	a.Log("exit", "code", code)
	return code
}
