// Package cli provides what every command shares: App with the streams, environment
// and global flags of one invocation, exit codes, messages, questions and progress.
// It changes nothing on a machine. Start with App.
package cli

import (
	"errors"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/cmd/aisync/quick/role"
	"aisync.dev/aisync/schema/spec"
)

// AtWork is the project of an agent's command, with the processes of this machine.
type AtWork struct {
	Root     string
	Runtimes []spec.Runtime
	Table    process.Table
	Caller   func() keeper.Caller // what the environment tells of the calling agent
}

// AtWork finds the project of --project, or else of the working folder.
func (a *App) AtWork() (AtWork, error) {
	root, err := a.Call().Root()
	if err != nil {
		return AtWork{}, err
	}
	runtimes := a.KnownRuntimes(root)
	return AtWork{root, runtimes, process.System(), a.Call().Caller(runtimes)}, nil
}

// Call returns this invocation as package quick takes it.
func (a *App) Call() quick.Call {
	return quick.Call{
		Getenv: a.Env.Get, Out: a.Out, Err: a.Err, Version: VersionText(), Project: a.Flags.Project, JSON: a.Flags.JSON, Quiet: a.Flags.Quiet, Verbose: a.Flags.Verbose, RoleOf: role.Of,
		Runtimes: func(root string) ([]spec.Runtime, error) { return a.KnownRuntimes(root), nil },
	}
}

// CallIn returns this invocation for the project of the folder that args name, if
// they name one.
func (a *App) CallIn(args []string) (quick.Call, error) {
	c := a.Call()
	switch {
	case len(args) == 0:
		return c, nil
	case a.Flags.Project != "":
		return c, Usagef("give the folder once: --project %s, or %s", a.Flags.Project, args[0])
	case args[0] == "":
		return c, Usagef("the folder is an empty text")
	}
	c.Folder = args[0]
	return c, nil
}

// Others returns the agents in the project, without the caller.
func (w AtWork) Others() roster.Roster { return roster.Look(w.Table, w.Root, w.Runtimes, w.Caller) }

// Leases returns the leases of the claims in the ledger of root.
func (a *App) Leases(root string) ledger.Leases { return a.leases(root) }

// Asker asks the ledger of the project in root for the caller, whose name among
// agents is name; false where the project has no ledger.
func (a *App) Asker(root, name string) (lease.Asker, bool, error) {
	l, err := ledger.Find(root)
	if errors.Is(err, ledger.ErrNoLedger) {
		return lease.Asker{}, false, nil
	}
	if err != nil {
		return lease.Asker{}, false, err
	}
	leases := a.leases(l.Root)
	l.Leases = leases
	return lease.Asker{Ledger: l, Leases: leases, Names: []string{name, a.Env.Get(identity.VarLedger), a.Env.Get(identity.VarID)}}, true, nil
}

func (a *App) leases(root string) *lease.Leases {
	runtimes := func() []spec.Runtime { return a.KnownRuntimes(root) }
	return lease.Of(process.System(), root, runtimes, func() keeper.Caller { return a.Call().Caller(runtimes())() })
}

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
