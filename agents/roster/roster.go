// Package roster finds the live agents of a project: from the processes of this
// machine, and, for those that it cannot see, from the records of their keepers.
// It says where it cannot know whether there are more. It writes nothing. Call
// Look.
package roster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
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
	Seat    string `json:"seat,omitempty"`   // its name in the ledger, where its keeper's record has one
	Known   bool   `json:"id_known"`         // its environment could be read
	Helper  bool   `json:"helper,omitempty"` // it was started as a helper
	UID     int    `json:"uid"`
	Start   uint64 `json:"start"` // with PID it identifies a process for good
	// Outside is the place of an agent that this process cannot see: there PID has
	// its meaning. Its keeper, or its last hook call, tells that it lives.
	Outside string `json:"outside,omitempty"`
}

// Roster is what Others found.
type Roster struct {
	Root   string  `json:"root"`
	Agents []Agent `json:"agents"` // by age, the oldest first
	// Hidden are other users' agents whose folder is unreadable and who may enter
	// the project: they may or may not be in it.
	Hidden []Agent `json:"hidden"`
	// Doubtful are agents that may still run here, or may have ended.
	Doubtful []Agent `json:"doubtful,omitempty"`
	// Unknown are the reasons why there may be agents that are not listed.
	Unknown []string `json:"unknown,omitempty"`
	// Own is the record of the calling agent, where it has one that its process
	// does not show: in a sandbox.
	Own   *keeper.Found `json:"-"`
	table process.Table
}

// Alone reports whether it is certain that no other agent is here.
func (r Roster) Alone() bool { return len(r.Agents) == 0 && r.Complete() }

// Complete reports whether Agents are certainly all.
func (r Roster) Complete() bool { return len(r.Hidden)+len(r.Doubtful)+len(r.Unknown) == 0 }

// Doubts are the reasons why Agents may not be all, in words.
func (r Roster) Doubts() []string {
	out := slices.Clone(r.Unknown)
	for _, h := range r.Hidden {
		out = append(out, fmt.Sprintf("process %d (%s) hides its folder from this user", h.PID, h.Runtime))
	}
	for _, d := range r.Doubtful {
		out = append(out, fmt.Sprintf("%s (%s, process %d %s) gave no sign of life for %s; if it has ended, run: aisync session archive --agent %s --gone",
			cmp.Or(d.ID, "an agent without an id"), d.Runtime, d.PID, d.Outside, keeper.Lease, cmp.Or(d.ID, "primary")))
	}
	return out
}

// Life tells whether the process that a file of the project names as an agent's,
// by its machine, number and start, is alive.
func (r Roster) Life(host string, pid int, start uint64) keeper.Life {
	is := func(a Agent) bool { return a.PID == pid && a.Start == start }
	switch {
	case host != "" && host != identity.Host():
		return keeper.Unknown
	case slices.ContainsFunc(r.Agents, is):
		return keeper.Alive
	case slices.ContainsFunc(r.Doubtful, is), len(r.Unknown) > 0:
		return keeper.Unknown
	case r.table == nil:
		return keeper.Gone // a list of all agents
	}
	return keeper.Of(r.table, host, pid, start)
}

// Look lists the agents at work in the project of root, except the caller: its
// process and their ancestors. An agent works in the innermost project that
// holds its working folder. A program that an agent starts directly, without a
// shell between, is part of that agent: the program under a wrapper, a server of
// the agent's. A program that it starts through a shell is another agent.
//
// caller returns what the environment says of the calling agent; nil for a
// caller that is none. Look calls it where there are records of agents. What
// cannot be read is among the reasons of Unknown.
func Look(t process.Table, root string, runtimes []spec.Runtime, caller func() keeper.Caller) Roster {
	r, _ := look(t, root, runtimes, caller)
	return r
}

// Others is Look for a caller that has only its process. It returns an error
// where it cannot read the process table and knows of no agent otherwise.
func Others(t process.Table, root string, runtimes []spec.Runtime) (Roster, error) {
	r, err := look(t, root, runtimes, nil)
	if len(r.Agents) > 0 {
		err = nil
	}
	return r, err
}

func look(t process.Table, root string, runtimes []spec.Runtime, caller func() keeper.Caller) (Roster, error) {
	r := Roster{Root: root, Agents: []Agent{}, Hidden: []Agent{}, table: t}
	s := scan{t, root, runtimes, map[int]bool{t.Self(): true}, map[int]seen{}, project.Is(root)}
	if why := t.Partial(); why != "" {
		r.Unknown = append(r.Unknown, why)
	}
	unread := s.processes(&r)
	if unread != nil {
		r.Unknown = append(r.Unknown, unread.Error())
	}
	if err := s.records(&r, caller); err != nil {
		r.Unknown = append(r.Unknown, err.Error())
	}
	sort.Slice(r.Agents, func(i, j int) bool { return older(&r.Agents[i], &r.Agents[j]) })
	sort.Slice(r.Hidden, func(i, j int) bool { return older(&r.Hidden[i], &r.Hidden[j]) })
	return r, unread
}

// older orders agents by the start of their process. Numbers of processes begin anew
// at some time, and do not tell. Agents elsewhere, whose starts are counted from
// another moment, come last.
func older(x, y *Agent) bool {
	return cmp.Or(strings.Compare(x.Outside, y.Outside), cmp.Compare(x.Start, y.Start), cmp.Compare(x.PID, y.PID), strings.Compare(x.ID, y.ID)) < 0
}

// processes adds the agents that the table shows.
func (s scan) processes(r *Roster) error {
	pids, err := s.table.PIDs()
	if err != nil {
		return err
	}
	if self := s.table.Self(); self != 0 && !slices.Contains(pids, self) {
		return fmt.Errorf("the process table has no entry for this process (%d); is /proc mounted?", self)
	}
	for _, p := range process.Ancestors(s.table, s.table.Self()) {
		s.mine[p.PID] = true
		s.known[p.PID] = seen{p, Match(p, s.runtimes)}
	}
	for _, pid := range pids {
		if s.mine[pid] {
			continue
		}
		cwd, err := s.table.Cwd(pid)
		hidden := errors.Is(err, process.ErrHidden)
		switch {
		case errors.Is(err, process.ErrGone):
			continue
		case err != nil && !hidden:
			return fmt.Errorf("process %d: %w", pid, err)
		case !hidden && !project.Holds(s.root, cwd):
			continue
		}
		if s.look(pid) == "" || !hidden && s.inner(cwd) {
			continue
		}
		p := s.read(pid)
		if p.runtime == "" || s.part(p.Process) || hidden && (!mayEnter(s.root, p.UID) || s.wrapped(p)) {
			continue
		}
		a := Agent{PID: pid, Cwd: cwd, Runtime: p.runtime, UID: p.UID, Start: p.Start}
		if env, err := s.table.Env(pid); err == nil {
			a.ID, a.Known, a.Helper = strings.TrimSpace(env[identity.VarID]), true, env[identity.VarHelper] == "1"
		}
		if hidden {
			r.Hidden = append(r.Hidden, a)
			continue
		}
		r.Agents = append(r.Agents, a)
	}
	return nil
}

// inner reports whether another project, between root and cwd, contains cwd.
func (s scan) inner(cwd string) bool {
	for at := cwd; at != s.root && len(at) > len(s.root); at = path.Dir(at) {
		if project.Is(at) {
			return true
		}
		if _, err := os.Lstat(path.Join(at, ".git")); err == nil && !s.isProject {
			return true
		}
	}
	return false
}

// wrapped reports whether a process whose folder is unreadable is the program
// under a wrapper that works elsewhere.
func (s scan) wrapped(p seen) bool {
	if above := s.read(p.Parent); p.Parent <= 1 || above.runtime != p.runtime {
		return false
	}
	cwd, err := s.table.Cwd(p.Parent)
	return err == nil && (!project.Holds(s.root, cwd) || s.inner(cwd))
}

// mayEnter reports whether a user may enter a folder, by the bits of its path. It
// does not know the groups of a user: any may be right.
func mayEnter(dir string, uid int) bool {
	if uid <= 0 {
		return true // root, or unknown
	}
	for at := dir; ; at = path.Dir(at) {
		var st unix.Stat_t
		if unix.Stat(at, &st) == nil {
			enter := uint32(0o011)
			if int(st.Uid) == uid {
				enter = 0o100
			}
			if uint32(st.Mode)&enter == 0 {
				return false
			}
		}
		if at == path.Dir(at) {
			return true
		}
	}
}

// records adds the agents that only their records show.
func (s scan) records(r *Roster, caller func() keeper.Caller) error {
	found, err := keeper.List(s.table, s.root)
	var self *keeper.Caller
	here := keeper.Here(s.table)
	for _, f := range found {
		if f.Life == keeper.Gone {
			continue
		}
		same := func(a Agent) bool { return a.PID == f.PID && a.Start == f.Start }
		a := Agent{PID: f.PID, Cwd: cmp.Or(f.Cwd, s.root), Runtime: f.Runtime, ID: f.ID, Seat: f.Seat, Known: true, Helper: f.Helper, UID: f.UID, Start: f.Start, Outside: outside(here, f.Place)}
		if here.Shows(f.Place) && f.PID != 0 {
			if s.mine[f.PID] || s.part(s.read(f.PID).Process) {
				continue
			}
			a.Outside = ""
			if i := slices.IndexFunc(r.Agents, same); i >= 0 {
				r.Agents[i].Seat = f.Seat
				if !r.Agents[i].Known {
					r.Agents[i] = a
				}
				continue
			}
			r.Hidden = slices.DeleteFunc(r.Hidden, same)
		}
		if self == nil {
			self = &keeper.Caller{}
			if caller != nil {
				*self = caller()
			}
		}
		switch {
		case self.Is(f):
			r.Own = &f
		case f.Life == keeper.Alive:
			r.Agents = append(r.Agents, a)
		default:
			r.Doubtful = append(r.Doubtful, a)
		}
	}
	return err
}

// outside names the place of an agent that here does not show.
func outside(here, there keeper.Place) string {
	if there.Host != here.Host {
		return "on " + cmp.Or(there.Host, "another machine")
	}
	return "in " + cmp.Or(there.Namespace, "a sandbox")
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
	table     process.Table
	root      string
	runtimes  []spec.Runtime
	mine      map[int]bool // the caller and its ancestors
	known     map[int]seen
	isProject bool // root has protocols
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
