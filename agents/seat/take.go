package seat

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
)

// Ask describes the agent that wants a seat.
type Ask struct {
	Runtime string
	Given   string // the name that a person, or the launcher, gave it; see Given
	ID      string // identity.VarID
	Helper  bool
	Worker  bool // of a task: it does not lead
	Session string
	Launch  string // identity.VarLaunch
	PID     int    // of its program; 0: not found
	Start   uint64
	Person  string // the name of the person who started it: no agent gets it
}

// Given returns the name that the environment gives an agent: the ledger's, else
// the id. An id that the launcher made is no name: it ends with the process.
func Given(getenv func(string) string) string {
	for _, variable := range []string{identity.VarLedger, identity.VarID} {
		if v := strings.TrimSpace(getenv(variable)); ledger.ValidAgent(v) && !(identity.Generated(v) && v == strings.TrimSpace(getenv(identity.VarID))) {
			return v
		}
	}
	return ""
}

// Take gives an agent a seat and stores its record: the name that it was given,
// unless another agent has it, as a program has inherited it that an agent
// started; the one that its process, its launch or its session had; else the
// runtime's id, with a number where other agents may have it. Two agents that ask
// at once get two seats.
func (r *Room) Take(a Ask) (*Seat, error) {
	var s *Seat
	err := r.locked(func() error {
		r.Refresh()
		names, err := r.Files()
		if err != nil {
			return err
		}
		all, _ := r.List() // the seat of an unreadable record is taken: it is among names
		s = r.choose(all, names, a)
		for _, before := range all {
			if before.Name != s.Name && !before.Ended && s.Session != "" && before.Session == s.Session && before.Runtime == s.Runtime {
				before.Ended = true // this session has another name now
				if err := r.Write(before.Name, before); err != nil {
					return err
				}
			}
		}
		return r.Write(s.Name, s)
	})
	if err != nil {
		return nil, fmt.Errorf("take a seat in %s: %w", r.Root, err)
	}
	return s, nil
}

// choose returns the record of the seat for a, of all records that are readable
// and the names of all.
func (r *Room) choose(all []*Seat, names []string, a Ask) *Seat {
	same := func(s *Seat) bool {
		launched := a.Launch == "" || s.Launch == "" || a.Launch == s.Launch // one launcher may start several
		return launched && s.is(r.Here(), a.PID, a.Start) ||
			a.Session != "" && s.Session == a.Session && s.Runtime == a.Runtime ||
			a.Launch != "" && s.Launch == a.Launch && s.Runtime == a.Runtime && s.Session == ""
	}
	free := func(name string) bool {
		if name == a.Person || name == Primary || name == All {
			return false
		}
		s := first(all, func(s *Seat) bool { return s.Name == name })
		if s == nil {
			return !slices.Contains(names, name)
		}
		return same(s) || r.Life(s) == keeper.Gone
	}
	name := ""
	inherited := a.Given != "" && !free(a.Given)
	if a.Given != "" && !inherited {
		name = a.Given
	}
	for _, s := range all {
		if name == "" && same(s) && s.Name != a.Person && (a.Given == "" || strings.HasPrefix(s.Name, a.Runtime)) {
			name = s.Name
		}
	}
	for n := 1; name == "" && n < most; n++ {
		next := a.Runtime
		if n > 1 {
			next = fmt.Sprintf("%s-%d", next, n)
		}
		if free(next) {
			name = next
		}
	}
	if name == "" {
		sum := sha256.Sum256([]byte(cmp.Or(a.Session, a.Launch, fmt.Sprint(a.PID, a.Start))))
		name = a.Runtime + "-" + hex.EncodeToString(sum[:])[:8]
	}
	s := &Seat{Name: name, Runtime: a.Runtime, ID: a.ID, Session: a.Session, Launch: a.Launch, MayLead: a.ID == "" && !a.Helper && !a.Worker, PID: a.PID, Start: a.Start, Place: r.Here(), Since: r.Now, Seen: r.Now}
	if was := first(all, func(s *Seat) bool { return s.Name == name }); was != nil && same(was) {
		if s.Since = was.Since; a.Session == "" {
			s.Session, s.Kept = was.Session, was.Kept
		}
	}
	others := slices.DeleteFunc(slices.Clone(all), func(other *Seat) bool { return other.Name == name })
	leads := r.Leader(others)
	s.Primary = s.MayLead && (leads == nil || !leads.Primary && s.Since.Before(leads.Since))
	for _, other := range all {
		if other.Name == name || r.Life(other) == keeper.Gone {
			continue
		}
		if s.ID != "" && s.ID == other.ID || inherited && s.ID == a.Given {
			s.ID = "" // inherited from that agent
		}
		if s.Launch != "" && s.Launch == other.Launch {
			s.Launch = ""
		}
	}
	return s
}

// most bounds the numbers behind names.
const most = 100
