// Package launch starts agents: it finds projects, resolves a runtime's name,
// decides the new agent's role, and runs its program in a tmux window or in this
// terminal, with a bundle's checks before and after. It evaluates no spec and
// prompts for nothing; callers do. Call Decide, Plan and Runner.Run.
package launch

import (
	"cmp"
	"maps"
	"slices"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/schema/spec"
)

// Start is a prepared start of one agent.
type Start struct {
	Root        string            `json:"project"`
	Dir         string            `json:"dir,omitempty"` // working folder of the program; "": Root
	Role        string            `json:"role"`
	ID          string            `json:"id,omitempty"`
	Runtime     string            `json:"runtime"`
	Label       string            `json:"label"` // in window names
	Model       string            `json:"model,omitempty"`
	Recovers    string            `json:"recovers,omitempty"` // the session file that it continues
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"` // added to the launcher's
	Secrets     map[string]string `json:"-"`           // added as well, and never shown
	Opening     string            `json:"opening,omitempty"`
	Type        bool              `json:"type_opening"` // the program takes no instruction as an argument
	Program     string            `json:"-"`            // the runtime whose command it is
	Ready       string            `json:"-"`            // see spec.Launch
	ReadyDelay  int               `json:"-"`            // milliseconds
}

// Program is the program to start: a runtime's, or another that drives the
// runtime.
type Program struct {
	Runtime     spec.Runtime // whose command, and whose way of taking an instruction
	Args        []string     // after the command's fixed arguments
	Environment map[string]string
	Secrets     map[string]string // variables that hold a secret
	Model       string
	Service     spec.Service // that it talks to; without a name: its maker's, or what its own files say
	Hooked      bool         // the project's spec gives it the hooks of the ledger
}

// Plan returns how to start the agent of d.
func Plan(root string, d Decision, c Choice, p Program, more []string) Start {
	l := p.Runtime.Launch
	s := Start{
		Root: root, Role: d.Role, ID: d.ID, Runtime: c.Runtime.ID, Program: p.Runtime.ID, Label: c.Label, Model: p.Model, Secrets: p.Secrets,
		Opening: Opening(root, d, p), Ready: l.Ready, ReadyDelay: l.ReadyDelay,
		Environment: map[string]string{},
	}
	if d.Recover != nil {
		s.Recovers = d.Recover.Path
	}
	s.Command = append([]string{p.Runtime.Command}, l.Line(l.Interactive, slices.Concat(p.Args, more), s.Opening, false)...)
	s.Type = len(l.Interactive) == 0
	maps.Copy(s.Environment, l.Environment)
	maps.Copy(s.Environment, p.Environment)
	maps.Copy(s.Environment, map[string]string{identity.VarRuntime: c.Runtime.ID, identity.VarProject: root})
	set := func(name, value string) {
		if value != "" {
			s.Environment[name] = value
		}
	}
	set(identity.VarModel, p.Model)
	if d.ID != "" {
		set(identity.VarID, d.ID)
		set(identity.VarContext, session.ByID(root, d.ID).Path)
		set(identity.VarLedger, d.ID)
	}
	if d.Role == "helper" {
		set(identity.VarHelper, "1")
	}
	return s
}

// identityVars are the variables that describe an agent. Those of the launcher describe
// another agent; no started program inherits them.
var identityVars = []string{identity.VarID, identity.VarRuntime, identity.VarProject, identity.VarContext, identity.VarHelper, identity.VarModel, identity.VarLaunch}

// Environ returns the sorted environment of the program: the launcher's, without
// the variables that describe the launcher, and with the agent's. PWD, which
// programs such as opencode take for the folder that they work in, is that folder.
func (s Start) Environ(from map[string]string) []string {
	all := maps.Clone(from)
	if all[identity.VarLedger] == all[identity.VarID] {
		delete(all, identity.VarLedger) // otherwise a person set it
	}
	for _, name := range identityVars {
		delete(all, name)
	}
	maps.Copy(all, s.Environment)
	maps.Copy(all, s.Secrets)
	all["PWD"] = cmp.Or(s.Dir, s.Root)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out
}

// Window returns the name of the agent's window: the project, with the runtime
// where several agents work there, and marked for a helper.
func (s Start) Window(several bool) string {
	name := project.Name(s.Root)
	switch {
	case s.Role == "helper":
		return name + ":" + s.ID
	case several:
		return name + ":" + s.Label
	}
	return name
}
