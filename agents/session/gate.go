package session

import (
	"slices"

	"aisync.dev/aisync/agents/roster"
)

// Gate is what stands in the way of a pass over whole files, or of the
// primary's last commit: agents that live, or may.
type Gate struct {
	Open     bool    `json:"open"`
	Helpers  []Entry `json:"helpers"`  // in the way
	Leftover []Entry `json:"leftover"` // of agents that crashed: to be looked at, in nobody's way
}

// Check looks for agents, other than self, that may be in the middle of an
// edit: those of live and stale contexts, and those that live here and have not
// begun a context yet, whose entry has no path.
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

// Duties are what an agent that ends its session has to do.
type Duties struct {
	Role   string  `json:"role"`   // primary, helper, orphan
	Duties string  `json:"duties"` // all, own, ask
	Others []Entry `json:"others"` // that are alive, or may be
	Text   string  `json:"text"`
}

// Close says what the agent of self has to do before it ends. The last one out
// closes the door: a helper that is alone has the primary's duties. A primary
// beside live agents has to ask.
func Close(self Context, entries []Entry, others roster.Roster) Duties {
	g := Check(self, entries, others)
	switch {
	case self.ID == "" && g.Open:
		return Duties{"primary", "all", g.Helpers, "nobody else is at work: run the hygiene passes, commit, push, archive your context"}
	case self.ID == "":
		return Duties{"primary", "ask", g.Helpers, "others are at work; ask which is meant: commit their work in progress with yours (their journals say what is under way), wait for them, or archive your context alone and leave closing to the last of them"}
	case g.Open:
		return Duties{"orphan", "all", g.Helpers, "nobody else is here: you have the closing duties; run the hygiene passes, commit, push, archive your context"}
	}
	return Duties{"helper", "own", g.Helpers, "others are at work: archive your own context; no hygiene passes, no commit; tell them what you leave uncommitted"}
}
