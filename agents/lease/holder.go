package lease

import (
	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/schema/spec"
)

// Of returns the Leases of the ledger in root for a command that an agent may
// have started. runtimes and caller are called where the agent is needed: caller
// says what the environment tells of it, for a command in a sandbox.
func Of(t process.Table, root string, runtimes func() []spec.Runtime, caller func() keeper.Caller) *Leases {
	at := root
	if top, err := project.Root(root); err == nil {
		at = top
	}
	return &Leases{Table: t, Project: at, Clock: clock.Now, Holder: func() (Holder, bool) { return find(t, at, runtimes(), caller) }}
}

// find returns the agent that started this process: an ancestor, or, where a
// sandbox hides that, the agent of the record that the environment names.
func find(t process.Table, root string, runtimes []spec.Runtime, caller func() keeper.Caller) (Holder, bool) {
	own, visible := roster.Own(t, root, runtimes)
	h := Holder{PID: own.PID, Start: own.Start, Place: keeper.Here(t)}
	if visible {
		h.Runtime = roster.Match(own, runtimes)
	}
	var by *keeper.Caller
	records, _ := keeper.List(t, root) // what is unreadable names no agent
	for _, f := range records {
		if f.Life == keeper.Gone {
			continue
		}
		same := visible && f.PID == own.PID && f.Start == own.Start && f.Shows(h.Place)
		if !visible {
			if by == nil {
				c := caller()
				by = &c
			}
			same = by.Is(f)
		}
		if same {
			return Holder{f.Runtime, f.Session, f.PID, f.Start, true, f.Place}, true
		}
	}
	return h, visible
}
