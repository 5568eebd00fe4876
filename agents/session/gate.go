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
	g.Open = len(g.Helpers) == 0
	return g
}

// Duties are an agent's duties at the end of its session.
type Duties struct {
	Role   string  `json:"role"`   // primary, helper, orphan
	Duties string  `json:"duties"` // all, own, ask
	Others []Entry `json:"others"` // that live, or may
	Text   string  `json:"text"`
}

// Close returns the duties of the agent of self before it ends. The last agent
// closes the project: a lone helper has the primary's duties. A primary beside
// live agents has to ask.
func Close(self Context, entries []Entry, others roster.Roster) Duties {
	g := Check(self, entries, others)
	switch {
	case self.ID == "" && g.Open:
		return Duties{"primary", "all", g.Helpers, "no other agent is at work: run the hygiene passes, commit, push, archive your context"}
	case self.ID == "":
		return Duties{"primary", "ask", g.Helpers, "others are at work; ask which to do: commit their work in progress with yours (their journals say what is under way), wait for them, or archive your context alone and leave closing to the last of them"}
	case g.Open:
		return Duties{"orphan", "all", g.Helpers, "no other agent is here, so you have the closing duties: run the hygiene passes, commit, push, archive your context"}
	}
	return Duties{"helper", "own", g.Helpers, "others are at work: archive your context; no hygiene passes, no commit; tell them what you leave uncommitted"}
}
