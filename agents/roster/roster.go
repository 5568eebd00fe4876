// Package roster finds the agents that are alive in a project, by looking at
// the processes of this machine. It keeps no list, so none can be out of date,
// and it writes nothing. Start reading at Others.
package roster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	ID      string `json:"id,omitempty"`     // "" where it was started without one, or that is not known
	Known   bool   `json:"id_known"`         // its environment could be read
	Helper  bool   `json:"helper,omitempty"` // it was started as one
	UID     int    `json:"uid"`
	Start   uint64 `json:"start"` // with PID it names a process for good
}

// Roster is what Others found.
type Roster struct {
	Root   string  `json:"root"`
	Agents []Agent `json:"agents"` // by PID
	// Hidden are other users' agents whose folder may not be looked at: they may
	// or may not be in this project.
	Hidden []Agent `json:"hidden"`
}

// Others lists the agents whose working folder is root or lies in it, but for
// the one that asks: its own process, the processes above it, and what the
// agent above it has started. Of a program and its own children of the same
// runtime only the uppermost counts.
func Others(t process.Table, root string, runtimes []spec.Runtime) (Roster, error) {
	r := Roster{Root: root, Agents: []Agent{}, Hidden: []Agent{}}
	pids, err := t.PIDs()
	if err != nil {
		return r, err
	}
	above := process.Ancestors(t, t.Self())
	mine := map[int]bool{t.Self(): true}
	for _, p := range above {
		mine[p.PID] = true
	}
	own := ownAgent(above, runtimes)
	found := map[int]Agent{}
	read := map[int]process.Process{}
	for _, pid := range pids {
		if mine[pid] {
			continue
		}
		cwd, err := t.Cwd(pid)
		hidden := errors.Is(err, process.ErrHidden)
		if err != nil && !hidden {
			if errors.Is(err, process.ErrGone) {
				continue
			}
			return r, fmt.Errorf("process %d: %w", pid, err)
		}
		if !hidden && !project.Holds(root, cwd) {
			continue
		}
		p, err := t.Read(pid)
		if err != nil {
			continue // it ended, or is not ours to know
		}
		rt := Match(p, runtimes)
		if rt == "" {
			continue
		}
		read[pid] = p
		a := Agent{PID: pid, Cwd: cwd, Runtime: rt, UID: p.UID, Start: p.Start}
		if hidden {
			r.Hidden = append(r.Hidden, a)
			continue
		}
		found[pid] = a
	}
	for pid, a := range found {
		if part(t, read[pid], a, found, own) {
			continue
		}
		if env, err := t.Env(pid); err == nil {
			a.ID, a.Known, a.Helper = env[identity.VarID], true, env[identity.VarHelper] == "1"
		}
		r.Agents = append(r.Agents, a)
	}
	slices.SortFunc(r.Agents, func(a, b Agent) int { return cmp.Compare(a.PID, b.PID) })
	slices.SortFunc(r.Hidden, func(a, b Agent) int { return cmp.Compare(a.PID, b.PID) })
	return r, nil
}

// ownAgent is the nearest agent above us, 0 if a person asks.
func ownAgent(above []process.Process, runtimes []spec.Runtime) int {
	for _, p := range above {
		if Match(p, runtimes) != "" {
			return p.PID
		}
	}
	return 0
}

// part reports whether p belongs to an agent that is counted already, or to
// the one that asks.
func part(t process.Table, p process.Process, a Agent, found map[int]Agent, own int) bool {
	seen := map[int]bool{}
	for pid := p.Parent; pid > 1 && !seen[pid]; {
		seen[pid] = true
		if pid == own {
			return true
		}
		if up, ok := found[pid]; ok && up.Runtime == a.Runtime {
			return true
		}
		up, err := t.Read(pid)
		if err != nil {
			return false
		}
		pid = up.Parent
	}
	return false
}

// Match returns the id of the runtime that a process is a program of, "" if of
// none: by what the catalog says its processes are called. A name that other
// programs have too counts only beside a script or a folder of the program's.
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
		if slices.ContainsFunc(rt.Detect.Generic, func(n string) bool { return slices.Contains(names, n) }) &&
			slices.ContainsFunc(rt.Detect.Scripts, func(s string) bool { return strings.Contains(script+" "+p.Exe, s) }) {
			return rt.ID
		}
	}
	return ""
}
