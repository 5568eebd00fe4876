package session

import (
	"cmp"
	"fmt"
	"os"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// meta returns the header of this agent's context.
func meta(a *cli.App, w cli.AtWork, c session.Context, others roster.Roster, model string) session.Meta {
	m := session.Meta{Runtime: a.Env.Get(identity.VarRuntime), Model: cmp.Or(model, a.Env.Get(identity.VarModel)), Host: cli.MachineName(), Role: "primary", Started: cli.Now()}
	if m.Runtime == "" {
		r := detect.Detect(detect.Surroundings{Getenv: a.Env.Get, Workspace: w.Root, Processes: process.System(), Runtimes: w.Runtimes})
		m.Runtime = r.Runtime
	}
	switch {
	case c.Helper() || a.Env.On(identity.VarHelper):
		m.Role = "helper"
	case c.ID != "":
		m.Role = "agent"
	}
	p, ok := w.OwnAgent()
	switch {
	case ok && w.Table.Partial() == "":
		m.PID, m.Begun = p.PID, p.Start
	case others.Own != nil && others.Own.Namespace == process.Initial:
		m.PID, m.Begun = others.Own.PID, others.Own.Start
	}
	if ok {
		m.Above = process.Ancestors(w.Table, p.PID)
	}
	return m
}

// isAgent reports whether an agent runs this command. A sandbox hides its
// process: then its variables tell.
func isAgent(a *cli.App, w cli.AtWork, c session.Context, others roster.Roster) bool {
	if _, ok := w.OwnAgent(); ok || c.ID != "" || others.Own != nil {
		return true
	}
	if w.Table.Partial() == "" {
		return false
	}
	r := detect.Detect(detect.Surroundings{Getenv: a.Env.Get, Processes: w.Table, Runtimes: w.Runtimes})
	return r.Runtime != detect.Unknown
}

// record makes the calling agent visible to processes that cannot see its own,
// by a keeper. Where its process is not visible to this one, the session's id
// tells which context is its own, and the record is dated only.
func record(w cli.AtWork, c session.Context, m session.Meta, others roster.Roster) error {
	by := w.Caller()
	a := keeper.Agent{ID: c.ID, Runtime: m.Runtime, Helper: m.Role == "helper", Session: by.Session, Launch: by.Launch, UID: os.Getuid(), Cwd: w.Root}
	switch {
	case w.Table.Partial() == "" && m.PID != 0:
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		a.PID, a.Start = m.PID, m.Begun
		return keeper.Start(w.Table, w.Root, a, program)
	case w.Table.Partial() == "", others.Own != nil, by.Session == "" && c.ID == "": // a person, known already, or nothing to know it by
		return nil
	}
	return keeper.Renew(w.Table, w.Root, a)
}
