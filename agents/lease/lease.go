// Package lease dates the claims of a ledger and tells which have ended. A claim
// of an agent names its agent's process and session; hooks renew it. The claim of
// an agent that is gone has ended. Where nothing tells whether an agent is alive,
// its claim holds, and is stale once its lease is over: people are told, and no
// program takes it. Set Leases in a ledger.Ledger.
package lease

import (
	"encoding/json"
	"fmt"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/shellquote"
)

// Duration is how long a claim holds after its last renewal where nothing tells
// whether its agent is alive.
const Duration = keeper.Lease

// Holder is the agent behind a claim.
type Holder struct {
	Runtime string `json:"runtime,omitempty"`
	Session string `json:"session,omitempty"` // the program's own id of its session
	PID     int    `json:"pid,omitempty"`
	Start   uint64 `json:"start,omitempty"` // of the process; with PID it identifies it
	Kept    bool   `json:"kept,omitempty"`  // it has, or had, a record of a keeper
	keeper.Place
}

// lease is the member "lease" of a claim.
type lease struct {
	For     int64        `json:"for"` // milliseconds after Renewed
	Renewed clock.Moment `json:"renewed"`
	Holder
}

// Leases gives the caller's claims their lease, and judges all claims.
type Leases struct {
	Table   process.Table
	Project string // the root of the project, where the keepers' records are
	Clock   clock.Clock
	// Holder returns the calling agent; false for a caller that is none, whose
	// claims have no lease. It is called where a lease is needed.
	Holder func() (Holder, bool)

	records keeper.Records
	listed  time.Time
	own     Holder
	isAgent bool
	asked   bool
}

// holder asks for the holder once.
func (s *Leases) holder() (Holder, bool) {
	if !s.asked && s.Holder != nil {
		s.own, s.isAgent = s.Holder()
	}
	s.asked = true
	return s.own, s.isAgent
}

// Lease implements ledger.Leases. A lease is due for renewal after a third of its
// time, or when it names another process of the agent. A claim of a former agent
// of the caller's name is not the caller's.
func (s *Leases) Lease(had *ledger.Claim) json.RawMessage {
	own, ok := s.holder()
	if !ok {
		return nil
	}
	now := s.Clock()
	if had != nil {
		if old, ok := parse(*had); ok {
			same := old.Holder == own
			age := now.Since(old.Renewed)
			if same && age >= 0 && age < Duration/3 {
				return nil
			}
			if !same && !sameSession(old.Holder, own) && s.life(old.Holder) == keeper.Gone {
				return nil
			}
		}
	}
	text, err := json.Marshal(lease{Duration.Milliseconds(), now, own})
	if err != nil {
		return nil // a struct of strings and numbers has no error
	}
	return text
}

func sameSession(a, b Holder) bool {
	return a.Session != "" && a.Session == b.Session && a.Runtime == b.Runtime
}

// parse reads the lease of a claim; false where it has none.
func parse(c ledger.Claim) (lease, bool) {
	var l lease
	if c.Lease == nil || json.Unmarshal(c.Lease, &l) != nil || l.For <= 0 {
		return l, false
	}
	return l, true
}

// State implements ledger.Leases.
func (s *Leases) State(c ledger.Claim) (ledger.State, string) {
	l, ok := parse(c)
	if !ok {
		return "", ""
	}
	switch s.life(l.Holder) {
	case keeper.Alive:
		return ledger.Held, ""
	case keeper.Gone:
		return ledger.Ended, l.agent() + " is gone; the next claim of it takes it over"
	}
	if age := s.Clock().Since(l.Renewed); age > time.Duration(l.For)*time.Millisecond {
		return ledger.Stale, fmt.Sprintf("%s gave no sign of life for %s; if it has ended, run: aisync ledger release %s --agent %s",
			l.agent(), age.Round(time.Minute), shellquote.Terminal(c.Path), shellquote.Terminal(c.Agent))
	}
	return ledger.Held, ""
}

// agent names the agent behind a lease for people.
func (h Holder) agent() string {
	name := "its agent"
	if h.Runtime != "" {
		name += ", " + h.Runtime
	}
	if h.PID != 0 {
		name += fmt.Sprintf(" (process %d on %s)", h.PID, h.Host)
	}
	return name
}

// fresh is how long a list of the keepers' records is used.
const fresh = 100 * time.Millisecond

// life decides whether the agent of a lease is alive.
func (s *Leases) life(h Holder) keeper.Life {
	if time.Since(s.listed) > fresh {
		s.records, s.listed = keeper.Look(s.Table, s.Project), time.Now()
	}
	return s.records.Life(keeper.Known{Runtime: h.Runtime, Session: h.Session, PID: h.PID, Start: h.Start, Place: h.Place, Kept: h.Kept, Age: keeper.Lease + 1})
}
