package main

import (
	"fmt"
	"io"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/schema/spec"
)

// atWork is the project that an agent's command is about, and who is in it.
type atWork struct {
	root     string
	runtimes []spec.Runtime
	table    process.Table
}

// atWork finds the project of the working folder, or of --project.
func (a *app) atWork() (atWork, error) {
	root, err := a.call().Root()
	if err != nil {
		return atWork{}, err
	}
	return atWork{root, a.knownRuntimes(root), process.System()}, nil
}

// call is a call of the commands that package quick has.
func (a *app) call() quick.Call {
	return quick.Call{
		Getenv: a.env.get, Out: a.out, Err: a.err, Version: versionText(), Project: a.g.project, JSON: a.g.json, Quiet: a.g.quiet, Verbose: a.g.verbose,
		Runtimes: func(root string) ([]spec.Runtime, error) { return a.knownRuntimes(root), nil },
	}
}

func (w atWork) others() (roster.Roster, error) { return roster.Others(w.table, w.root, w.runtimes) }

// machineName is this machine's name in ids and addresses.
func machineName() string { return identity.Host() }

// ownAgent is the process of the agent that runs this command, as others see
// it; false where a person does.
func (w atWork) ownAgent() (process.Process, bool) { return roster.Own(w.table, w.root, w.runtimes) }

// context is the caller's own.
func (a *app) context(w atWork) (session.Context, error) { return session.Of(w.root, a.env.get) }

// own is the project that the caller is at work in, and its context there.
func (a *app) own() (atWork, session.Context, error) {
	w, err := a.atWork()
	if err != nil {
		return w, session.Context{}, err
	}
	c, err := a.context(w)
	return w, c, err
}

// now is the time in the user's own zone: names of archives are local.
func now() time.Time { return time.Now() }

// editTexts reads the text that is given as - from the input.
func (a *app) editTexts(e *session.Edit) error {
	for _, text := range []*string{&e.Append, e.Body, &e.New} {
		if text == nil || *text != "-" {
			continue
		}
		input, err := io.ReadAll(io.LimitReader(a.input(), maxInput+1))
		if err != nil {
			return fmt.Errorf("read the text from the input: %w", err)
		}
		if len(input) > maxInput {
			return fmt.Errorf("the text on the input is longer than %d MB", maxInput>>20)
		}
		*text = string(input)
		return nil
	}
	return nil
}
