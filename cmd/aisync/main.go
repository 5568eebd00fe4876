// Package main is the aisync program: the list of its commands and the process
// around them (streams, signals, panics, links in argv[0], the modes in which the
// program calls itself). Commands are in internal/command, one package a noun.
// Start reading at execute.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/witness"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/app/stack/gate"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/cmd/aisync/internal/command/message"
	runcmd "aisync.dev/aisync/cmd/aisync/internal/command/run"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	_ "aisync.dev/aisync/cmd/aisync/quick/hook" // answers in its init
	_ "aisync.dev/aisync/cmd/aisync/quick/hook/tool"
	quickledger "aisync.dev/aisync/cmd/aisync/quick/ledger"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/netjail"
)

func main() { os.Exit(runProcess(nil)) }

// runProcess runs the program with the arguments, streams and environment of this
// process, and tunes its garbage collector.
func runProcess(g gate.Gate) int {
	// Most commands end before the heap reaches 16 MB. The default (100) collects
	// from 4 MB on, which costs a tenth of their time.
	debug.SetGCPercent(400)
	return execute(g, os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ())
}

// execute runs one invocation and returns its exit code. argv begins with the name
// that the program was called by. Beyond its arguments it uses the working folder,
// the signals and the file system of the process.
func execute(g gate.Gate, argv []string, stdin io.Reader, stdout, stderr io.Writer, variables []string) (code int) {
	if netjail.IsInside(argv) {
		return netjail.Main(argv)
	}
	if len(argv) == 2 && argv[1] == cli.RehearseCommand {
		return cli.RehearseHere(stdin, stdout)
	}
	if len(argv) == 2 && argv[1] == everyproject.WorkerCommand {
		return everyproject.Serve(stdin, stdout, variables, func(argv []string, stdin io.Reader, stdout, stderr io.Writer, variables []string) int {
			return execute(g, argv, stdin, stdout, stderr, variables)
		})
	}
	if sandbox.IsInside(argv) {
		return sandbox.Main(argv)
	}
	if len(argv) == 4 && argv[1] == runcmd.KeepCommand {
		return worker.Keep(argv[2], argv[3])
	}
	if witness.IsCall(argv) {
		return witness.Main(argv)
	}
	a := &cli.App{In: stdin, Out: cli.OnScreen(stdout), Err: cli.OnScreen(stderr), Env: environ.New(variables), Argv0: filepath.Base(argv[0]), Gate: g}
	defer func() {
		if p := recover(); p != nil {
			// Go exits with 2 on a panic, which would read as drift.
			a.ReportPanic(p, debug.Stack())
			code = a.CodeOf(cli.ExitError, nil)
		}
	}()
	ctx, stop := cli.UntilSignal()
	defer stop()
	a.Signals = ctx

	if c := quickledger.Crashed; c != nil {
		a.ReportPanic(c.Cause, c.Stack)
		return cli.ExitError
	}
	if a.Argv0 == "ensemble" { // agents call it all the time: building the command tree costs more than a claim
		return message.Ensemble(ctx, a, argv[1:], false)
	}
	root := rootCommand(a)
	words := cli.ExpandLink(a.Argv0, argv[1:])
	path, _ := cli.SplitCommand(root, words)
	a.Command = strings.Join(path, " ")
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
