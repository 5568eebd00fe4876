package session

import (
	"slices"

	"aisync.dev/aisync/agents/roster"
)

// Gate lists the agents that prevent a pass over whole files, or the primary's
// last commit: agents that live, or may.
type Gate struct {
	Open     bool    `json:"open"`
	Helpers  []Entry `json:"helpers"`  // agents that prevent it
	Leftover []Entry `json:"leftover"` // of crashed agents: to be examined, but no obstacle
	// Doubts are the reasons why other agents may be at work that Helpers does not
	// list: they shut the gate.
	Doubts []string `json:"doubts,omitempty"`
}

// Certain reports whether the agents that prevent it are known, or that none is.
func (g Gate) Certain() bool { return certain(g.Doubts, g.Helpers) }

func certain(doubts []string, others []Entry) bool {
	return len(doubts) == 0 || slices.ContainsFunc(others, func(e Entry) bool { return e.State == Live })
}

// Check lists agents other than self that may be editing: those of live and
// stale contexts, and live ones without a context yet, whose entry has no path.
func Check(self Context, entries []Entry, others roster.Roster) Gate {
	g := Gate{Helpers: []Entry{}, Leftover: []Entry{}}
	for _, e := range entries {
		switch {
		case e.Self, self.ID == "" && e.ID == "" && e.PID == 0:
		case e.State == Crashed:
			g.Leftover = append(g.Leftover, e)
		default:
			g.Helpers = append(g.Helpers, e)
		}
	}
	for _, a := range others.Agents {
		if !slices.ContainsFunc(g.Helpers, func(e Entry) bool { return e.PID == a.PID }) {
			g.Helpers = append(g.Helpers, Entry{ID: a.ID, State: Live, Helper: a.Helper, Runtime: a.Runtime, PID: a.PID})
		}
	}
	g.Doubts = others.Doubts()
	g.Open = len(g.Helpers) == 0 && len(g.Doubts) == 0
	return g
}

// Duties are an agent's duties at the end of its session.
type Duties struct {
	Role   string  `json:"role"`   // primary, helper, orphan
	Duties string  `json:"duties"` // all, own, ask
	Others []Entry `json:"others"` // that live, or may
	Text   string  `json:"text"`
	// Doubts are the reasons why there may be others that are not listed.
	Doubts []string `json:"doubts,omitempty"`
}

// Certain reports whether the other agents are known.
func (d Duties) Certain() bool { return certain(d.Doubts, d.Others) }

// Close returns the duties of the agent of self before it ends. The last agent
// closes the project: a lone helper has the primary's duties. A primary beside
// live agents has to ask, and so has one that cannot tell.
func Close(self Context, entries []Entry, others roster.Roster) Duties {
	g := Check(self, entries, others)
	switch {
	case self.ID == "" && g.Open:
		return Duties{"primary", "all", g.Helpers, "no other agent is at work: run the hygiene passes, commit, push, archive your context", g.Doubts}
	case self.ID == "" && !g.Certain():
		return Duties{"primary", "ask", g.Helpers, "other agents may be at work that are not visible from here; ask the person whether they are, and until then archive your context alone", g.Doubts}
	case self.ID == "":
		return Duties{"primary", "ask", g.Helpers, "others are at work; ask which to do: commit their work in progress with yours (their journals say what is under way), wait for them, or archive your context alone and leave closing to the last of them", g.Doubts}
	case g.Open:
		return Duties{"orphan", "all", g.Helpers, "no other agent is here, so you have the closing duties: run the hygiene passes, commit, push, archive your context", g.Doubts}
	}
	if !g.Certain() {
		return Duties{"helper", "own", g.Helpers, "others may be at work: archive your context; no hygiene passes, no commit; tell the person what you leave uncommitted", g.Doubts}
	}
	return Duties{"helper", "own", g.Helpers, "others are at work: archive your context; no hygiene passes, no commit; tell them what you leave uncommitted", g.Doubts}
}
