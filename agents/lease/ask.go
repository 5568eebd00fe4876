package lease

import (
	"fmt"
	"slices"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/internal/shellquote"
)

// Asker is a program about to write, for an agent or a person.
type Asker struct {
	Ledger *ledger.Ledger // whose Leases are these
	Leases *Leases
	Names  []string // of the asking agent; empty ones count for nothing
}

// Held returns the claims of others that cover or meet paths and patterns, each
// once: those that hold and those that are stale. Paths are absolute or relative
// to the root of the ledger.
func (a Asker) Held(paths ...string) ([]ledger.Claim, error) {
	claims, err := a.Ledger.Claims()
	if err != nil {
		return nil, err
	}
	claims = slices.DeleteFunc(claims, func(c ledger.Claim) bool { return c.State == ledger.Ended || a.owns(c) })
	var out []ledger.Claim
	for _, path := range paths {
		near, err := a.Ledger.Overlapping(claims, "", path)
		if err != nil {
			return nil, err
		}
		for _, c := range near {
			if !slices.ContainsFunc(out, func(o ledger.Claim) bool { return o.Path == c.Path }) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// owns reports whether a claim is the asker's: by its name, or by the process or
// session that made it, of an agent that was given no name.
func (a Asker) owns(c ledger.Claim) bool {
	if slices.Contains(a.Names, c.Agent) {
		return true
	}
	own, ok := a.Leases.holder()
	l, leased := parse(c)
	return ok && leased && (sameSession(l.Holder, own) || own.PID != 0 && l.PID == own.PID && l.Start == own.Start && l.Place == own.Place)
}

// Agent reports whether the asker is an agent, not a person.
func (a Asker) Agent() bool {
	_, ok := a.Leases.holder()
	return ok || slices.ContainsFunc(a.Names, func(name string) bool { return name != "" })
}

// Text says whose a claim is and how to ask for it.
func Text(c ledger.Claim) string {
	return fmt.Sprintf("%s is claimed by %s since %s%s; ask for it: aisync ledger send %s \"…\" --type question", c.Path, c.Agent, c.Since, c.Note(), shellquote.Terminal(c.Agent))
}
