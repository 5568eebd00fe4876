// Package cli provides what every command shares: App with the streams, environment
// and global flags of one invocation, exit codes, messages, questions and progress.
// It changes nothing on a machine. Start with App.
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

// AtWork is the project of an agent's command, with the processes of this machine.
type AtWork struct {
	Root     string
	Runtimes []spec.Runtime
	Table    process.Table
}

// AtWork finds the project of --project, or else of the working folder.
func (a *App) AtWork() (AtWork, error) {
	root, err := a.Call().Root()
	if err != nil {
		return AtWork{}, err
	}
	return AtWork{root, a.KnownRuntimes(root), process.System()}, nil
}

// Call returns this invocation as package quick takes it.
func (a *App) Call() quick.Call {
	return quick.Call{
		Getenv: a.Env.Get, Out: a.Out, Err: a.Err, Version: VersionText(), Project: a.Flags.Project, JSON: a.Flags.JSON, Quiet: a.Flags.Quiet, Verbose: a.Flags.Verbose,
		Runtimes: func(root string) ([]spec.Runtime, error) { return a.KnownRuntimes(root), nil },
	}
}

// Others returns the agents in the project, without the caller.
func (w AtWork) Others() (roster.Roster, error) { return roster.Others(w.Table, w.Root, w.Runtimes) }

// MachineName returns this machine's name in ids and addresses.
func MachineName() string { return identity.Host() }

// OwnAgent returns the process of the agent that runs this command; false where a
// person runs it.
func (w AtWork) OwnAgent() (process.Process, bool) { return roster.Own(w.Table, w.Root, w.Runtimes) }

// Context returns the caller's session context in the project.
func (a *App) Context(w AtWork) (session.Context, error) { return session.Of(w.Root, a.Env.Get) }

// Own returns the caller's project and its session context there.
func (a *App) Own() (AtWork, session.Context, error) {
	w, err := a.AtWork()
	if err != nil {
		return w, session.Context{}, err
	}
	c, err := a.Context(w)
	return w, c, err
}

// Now returns the time in the local zone, which names of archives use.
func Now() time.Time { return time.Now() }

// MaxInput is the most bytes read from stdin or from a file that a person names.
const MaxInput = 16 << 20
