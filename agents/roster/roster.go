// Package roster finds the live agents of a project from the processes of this
// machine. It keeps no list, so none can be out of date, and it writes nothing.
// Call Others.
package roster

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/schema/spec"
)

// Agent is one live agent of a project.
type Agent struct {
	PID     int    `json:"pid"`
	Cwd     string `json:"cwd"`
	Runtime string `json:"runtime"`
	ID      string `json:"id,omitempty"`     // "" where it has none, or none is known
	Known   bool   `json:"id_known"`         // its environment could be read
	Helper  bool   `json:"helper,omitempty"` // it was started as a helper
	UID     int    `json:"uid"`
	Start   uint64 `json:"start"` // with PID it identifies a process for good
}

// Roster is what Others found.
type Roster struct {
	Root   string  `json:"root"`
	Agents []Agent `json:"agents"` // by PID
	// Hidden are other users' agents whose folder is unreadable: they may or may
	// not be in this project.
	Hidden []Agent `json:"hidden"`
}

// Others lists the agents whose working folder is root or below it, except the
// caller: its process and their ancestors. A program that an agent starts
// directly, without a shell between, is part of that agent: the program under a
// wrapper, a server of the agent's. A program that it starts through a shell is
// another agent.
func Others(t process.Table, root string, runtimes []spec.Runtime) (Roster, error) {
	r := Roster{Root: root, Agents: []Agent{}, Hidden: []Agent{}}
	pids, err := t.PIDs()
	if err != nil {
		return r, err
	}
	if self := t.Self(); self != 0 && !slices.Contains(pids, self) {
		return r, fmt.Errorf("the process table has no entry for this process (%d); is /proc mounted?", self)
	}
	s := scan{t, root, runtimes, map[int]bool{t.Self(): true}, map[int]seen{}}
	for _, p := range process.Ancestors(t, t.Self()) {
		s.mine[p.PID] = true
		s.known[p.PID] = seen{p, Match(p, runtimes)}
	}
	for _, pid := range pids {
		if s.mine[pid] {
			continue
		}
		cwd, err := t.Cwd(pid)
		hidden := errors.Is(err, process.ErrHidden)
		switch {
		case errors.Is(err, process.ErrGone):
			continue
		case err != nil && !hidden:
			return r, fmt.Errorf("process %d: %w", pid, err)
		case !hidden && !project.Holds(root, cwd):
			continue
		}
		if s.look(pid) == "" {
			continue
		}
		p := s.read(pid)
		if p.runtime == "" || s.part(p.Process) {
			continue
		}
		a := Agent{PID: pid, Cwd: cwd, Runtime: p.runtime, UID: p.UID, Start: p.Start}
		if env, err := t.Env(pid); err == nil {
			a.ID, a.Known, a.Helper = strings.TrimSpace(env[identity.VarID]), true, env[identity.VarHelper] == "1"
		}
		if hidden {
			r.Hidden = append(r.Hidden, a)
			continue
		}
		r.Agents = append(r.Agents, a)
	}
	sort.Slice(r.Agents, func(i, j int) bool { return r.Agents[i].PID < r.Agents[j].PID })
	sort.Slice(r.Hidden, func(i, j int) bool { return r.Hidden[i].PID < r.Hidden[j].PID })
	return r, nil
}

// Own returns the caller's agent process, as other agents see it in their
// rosters; false where no ancestor is an agent.
func Own(t process.Table, root string, runtimes []spec.Runtime) (process.Process, bool) {
	var own process.Process
	for _, p := range process.Ancestors(t, t.Self()) {
		is := Match(p, runtimes) != ""
		if own.PID == 0 {
			if is {
				own = p
			}
			continue
		}
		cwd, err := t.Cwd(p.PID)
		if !is || own.Parent != p.PID || err != nil || !project.Holds(root, cwd) {
			break
		}
		own = p // the wrapper of the previous one
	}
	return own, own.PID != 0
}

// scan is one pass over the processes. It reads each once.
type scan struct {
	table    process.Table
	root     string
	runtimes []spec.Runtime
	mine     map[int]bool // the caller and its ancestors
	known    map[int]seen
}

type seen struct {
	process.Process
	runtime string // "": not an agent's program, or it has ended
}

// look returns the runtime of a process by its cheap fields.
func (s scan) look(pid int) string {
	if p, ok := s.known[pid]; ok {
		return p.runtime
	}
	p, err := s.table.Look(pid)
	if err != nil {
		return ""
	}
	return Match(p, s.runtimes)
}

func (s scan) read(pid int) seen {
	if p, ok := s.known[pid]; ok {
		return p
	}
	var out seen
	if p, err := s.table.Read(pid); err == nil { // otherwise it has ended
		out = seen{p, Match(p, s.runtimes)}
	}
	s.known[pid] = out
	return out
}

// part reports whether p belongs to an agent that is listed or is the caller:
// its parent is that agent's program. A child of an agent that works in another
// project is an agent here.
func (s scan) part(p process.Process) bool {
	if p.Parent <= 1 || s.read(p.Parent).runtime == "" {
		return false
	}
	if s.mine[p.Parent] {
		return true
	}
	cwd, err := s.table.Cwd(p.Parent)
	return errors.Is(err, process.ErrHidden) || err == nil && project.Holds(s.root, cwd)
}

// Match returns the runtime that a process runs, by the catalog's process names;
// "" if none.
func Match(p process.Process, runtimes []spec.Runtime) string {
	names := p.Names()
	script := p.Script()
	for _, rt := range runtimes {
		if slices.ContainsFunc(rt.Detect.Processes, func(n string) bool { return slices.Contains(names, n) }) {
			return rt.ID
		}
		if script != "" && slices.ContainsFunc(rt.Detect.Scripts, func(s string) bool { return strings.Contains(script, s) }) {
			return rt.ID
		}
		if slices.ContainsFunc(rt.Detect.Generic, func(n string) bool { return slices.Contains(names, n) }) && likely(p, rt) {
			return rt.ID
		}
	}
	return ""
}

// likely reports whether a process with an ambiguous name is the runtime's: by
// its folder, by a subcommand of the runtime, or because it keeps running
// without any argument, as the runtime does and a tool that needs arguments does
// not.
func likely(p process.Process, rt spec.Runtime) bool {
	if slices.ContainsFunc(rt.Detect.Scripts, func(s string) bool { return strings.Contains(p.Exe, s) }) {
		return true
	}
	if len(p.Args) == 1 {
		return slices.Contains(p.Names(), rt.Command)
	}
	for _, line := range [][]string{rt.Launch.Interactive, rt.Launch.Headless, rt.Session.Resume, rt.Session.Continue} {
		if len(p.Args) > 1 && len(line) > 0 && line[0] == p.Args[1] && strings.Trim(line[0], "abcdefghijklmnopqrstuvwxyz") == "" {
			return true
		}
	}
	return false
}
