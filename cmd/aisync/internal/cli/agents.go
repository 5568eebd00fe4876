// Package cli is one invocation of the program: its streams, environment, flags,
// exit codes, messages and questions. It decides nothing about a machine. App is
// what a command gets.
package cli

import (
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/schema/spec"
)

// AtWork is the project that an agent's command is about, and who is in it.
type AtWork struct {
	Root     string
	Runtimes []spec.Runtime
	Table    process.Table
}

// AtWork finds the project of the working folder, or of --project.
func (a *App) AtWork() (AtWork, error) {
	root, err := a.Call().Root()
	if err != nil {
		return AtWork{}, err
	}
	return AtWork{root, a.KnownRuntimes(root), process.System()}, nil
}

// Call is a call of the commands that package quick has.
func (a *App) Call() quick.Call {
	return quick.Call{
		Getenv: a.Env.Get, Out: a.Out, Err: a.Err, Version: VersionText(), Project: a.Flags.Project, JSON: a.Flags.JSON, Quiet: a.Flags.Quiet, Verbose: a.Flags.Verbose,
		Runtimes: func(root string) ([]spec.Runtime, error) { return a.KnownRuntimes(root), nil },
	}
}

func (w AtWork) Others() (roster.Roster, error) { return roster.Others(w.Table, w.Root, w.Runtimes) }

// MachineName is this machine's name in ids and addresses.
func MachineName() string { return identity.Host() }

// OwnAgent is the process of the agent that runs this command, as others see
// it; false where a person does.
func (w AtWork) OwnAgent() (process.Process, bool) { return roster.Own(w.Table, w.Root, w.Runtimes) }

// Context is the caller's own.
func (a *App) Context(w AtWork) (session.Context, error) { return session.Of(w.Root, a.Env.Get) }

// Own is the project that the caller is at work in, and its context there.
func (a *App) Own() (AtWork, session.Context, error) {
	w, err := a.AtWork()
	if err != nil {
		return w, session.Context{}, err
	}
	c, err := a.Context(w)
	return w, c, err
}

// Now is the time in the user's own zone: names of archives are local.
func Now() time.Time { return time.Now() }

// MaxInput bounds a text that is read from the input.
const MaxInput = 16 << 20
