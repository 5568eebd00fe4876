package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"aisync.dev/aisync/agents/ledger/jsontext"
)

// Claiming is what ClaimAll did.
type Claiming struct {
	Records []json.RawMessage // audit records, one a path
	Near    []Claim           // claims of other agents that overlap; only with force
	Ended   []Claim           // claims of agents that are gone, which it took or removed
}

// ClaimAll makes agent the owner of all paths and patterns, or of none. It creates
// the agent if needed. Without force it refuses a path of another agent with
// ErrClaimed and an overlapping one with ErrOverlap, unless the other's claim has
// ended: that one is taken over, or removed. With force overlapping claims stay. A
// crash may leave a change without its audit record.
func (l *Ledger) ClaimAll(agent string, paths []string, force bool) (done Claiming, err error) {
	keys, err := l.owned(agent, paths)
	if err != nil {
		return done, err
	}
	err = l.changeLocked(func() error {
		previous := make([]json.RawMessage, len(keys))
		since := l.stamp()
		again := false
		err := l.change(func(o jsontext.Object) (jsontext.Object, error) {
			defer func() { again = true }()
			claims, at := claimsOf(o), pathCache{}
			for i, key := range keys {
				if c := parseClaim(jsontext.Member{Key: key, Value: o.Get(key)}); again && c.Agent == agent && c.Since == since {
					continue // written by an earlier try of this claim
				}
				for _, c := range at.overlaps(claims, agent, key) {
					if force {
						done.Near = append(done.Near, c) // unjudged: its agent may end before this is written
						continue
					}
					if l.judge(&c); c.State == Ended {
						o = o.Without(c.Path)
						claims = without(claims, c.Path)
						done.Ended = append(done.Ended, c)
					} else {
						return nil, refusal{fmt.Sprintf("%s overlaps %s, which %s claims%s. Use --force to override.", key, c.Path, c.Agent, c.staleText()), ErrOverlap}
					}
				}
				previous[i] = nil
				if had := o.Get(key); had != nil {
					previous[i] = asClaimed(had)
				}
				entry, ended, err := l.claimedEntry(o, agent, key, since, force)
				if err != nil {
					return nil, err
				}
				if ended != nil {
					done.Ended = append(done.Ended, *ended)
				}
				o, claims = o.With(key, entry), without(claims, key)
			}
			return o, nil
		})
		if err != nil {
			return err
		}
		for _, c := range done.Ended {
			if slices.Contains(keys, c.Path) {
				continue // recorded as an update
			}
			if err := l.recordEnd(agent, c); err != nil {
				return err
			}
		}
		for i, key := range keys {
			action := "claim"
			if previous[i] != nil {
				action = "claim_update"
			}
			rec, err := l.record(action, pair{"agent", agent}, pair{"path", key}, pair{"previous", previous[i]}, pair{"force", force})
			if err != nil {
				return err
			}
			if err := l.verifyClaim(key, agent); err != nil {
				return err
			}
			done.Records = append(done.Records, rec)
		}
		return l.ensureAgent(agent)
	})
	return done, err
}

func without(claims []Claim, path string) []Claim {
	return slices.DeleteFunc(claims, func(c Claim) bool { return c.Path == path })
}

// Note is what people are told of a claim that does not simply hold: " · ended:
// …"; "" of any other.
func (c Claim) Note() string {
	if c.Why == "" {
		return ""
	}
	return " · " + string(c.State) + ": " + c.Why
}

// staleText is for a refusal: why a claim is Stale.
func (c Claim) staleText() string {
	if c.Why == "" {
		return ""
	}
	return " (" + c.Why + ")"
}

// claimedEntry returns the entry of key once agent has claimed it, and the ended
// claim that it replaces; or why agent may not.
func (l *Ledger) claimedEntry(o jsontext.Object, agent, key, since string, force bool) (entry json.RawMessage, ended *Claim, err error) {
	entry = claimEntry(agent, since, l.newLease())
	i := o.Index(key)
	if i < 0 {
		return entry, nil, nil
	}
	had := parseClaim(o[i])
	if had.Agent != agent && !force {
		if l.judge(&had); had.State == Ended {
			return entry, &had, nil
		}
		return nil, nil, refusal{fmt.Sprintf("Path already claimed by %s: %s%s. Use --force to override.", had.Agent, key, had.staleText()), ErrClaimed}
	}
	if force {
		// Drop what the replaced entry had replaced: repeated claims would nest
		// without bound.
		now, _ := jsontext.Parse(entry) // cannot fail: claimEntry made it
		entry = now.With("previous", asClaimed(o[i].Value)).Compact()
	}
	return entry, nil, nil
}

// newLease returns the lease of a claim that the caller makes; nil: none.
func (l *Ledger) newLease() json.RawMessage {
	if l.Leases == nil {
		return nil
	}
	return l.Leases.Lease(nil)
}

func claimEntry(agent, since string, lease json.RawMessage) json.RawMessage {
	o := jsontext.Object{}.With("agent", json.RawMessage(jsontext.Quote(agent))).With("since", json.RawMessage(jsontext.Quote(since)))
	if lease != nil {
		o = o.With("lease", lease)
	}
	return o.Compact()
}

// Renew renews the leases of agent's claims that are due, and gives one to those
// that have none. It leaves no audit record. Claims of a former agent of that
// name, which is gone, are left.
func (l *Ledger) Renew(agent string) error {
	if l.Leases == nil {
		return nil
	}
	edit := func(o jsontext.Object) (jsontext.Object, error) {
		for _, m := range o {
			c := parseClaim(m)
			if c.Agent != agent {
				continue
			}
			if lease := l.Leases.Lease(&c); lease != nil {
				entry, err := jsontext.Parse(m.Value)
				if err != nil {
					return nil, err
				}
				o = o.With(m.Key, entry.With("lease", lease).Compact())
			}
		}
		return o, nil
	}
	o, err := l.claimed()
	if err != nil {
		return err
	}
	if due, err := edit(o); err != nil || bytes.Equal(due.Compact(), o.Compact()) {
		return err
	}
	return l.changeLocked(func() error { return l.change(edit) })
}

// verifyClaim checks again that the claim stands: a writer without a lock may have
// restored what it had read before.
func (l *Ledger) verifyClaim(key, agent string) error {
	o, err := l.claimed()
	if err != nil {
		return err
	}
	i := o.Index(key)
	switch {
	case i < 0:
		return l.change(func(o jsontext.Object) (jsontext.Object, error) {
			return o.With(key, claimEntry(agent, l.stamp(), l.newLease())), nil
		})
	case parseClaim(o[i]).Agent != agent:
		return refusal{fmt.Sprintf("Path already claimed by %s: %s. Use --force to override.", parseClaim(o[i]).Agent, key), ErrClaimed}
	}
	return nil
}
