package doctor

import (
	"cmp"
	"context"
	"errors"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/internal/shellquote"
)

// checkClaims reports claims of the project's ledger whose agents are gone, or
// have given no sign of life for longer than their lease. It ends none.
func checkClaims(_ context.Context, e *Env) Outcome {
	l, err := ledger.Find(cmp.Or(e.places.Project, e.machine.Cwd))
	if errors.Is(err, ledger.ErrNoLedger) {
		return found()
	}
	if err != nil {
		return found(fail("", "%v", err))
	}
	leases := &lease.Leases{Table: process.System(), Project: l.Root, Clock: clock.Now}
	if root, err := project.Root(l.Root); err == nil {
		leases.Project = root
	}
	l.Leases = leases
	claims, err := l.Claims()
	if err != nil {
		return found(fail("aisync ledger repair", "%v", err))
	}
	var out []Finding
	for _, c := range claims {
		if c.Why != "" {
			out = append(out, warn("aisync ledger release "+shellquote.Terminal(c.Path)+" --agent "+shellquote.Terminal(c.Agent), "the claim of %s on %s is %s: %s", c.Agent, c.Path, c.State, c.Why))
		}
	}
	return found(out...)
}
