package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"aisync.dev/aisync/agents/ledger/jsontext"
)

// Drop removes claims of agents that are gone for agent by, except those that
// have changed since they were read.
func (l *Ledger) Drop(by string, ended []Claim) error {
	return l.changeLocked(func() error {
		var gone []Claim
		err := l.change(func(o jsontext.Object) (jsontext.Object, error) {
			gone = nil
			for _, c := range ended {
				if now := parseClaim(jsontext.Member{Key: c.Path, Value: o.Get(c.Path)}); now.Agent == c.Agent && now.Since == c.Since && bytes.Equal(now.Lease, c.Lease) {
					o, gone = o.Without(c.Path), append(gone, c)
				}
			}
			return o, nil
		})
		for _, c := range gone {
			err = errors.Join(err, l.recordEnd(by, c))
		}
		return err
	})
}

// recordEnd records that agent by removed an ended claim.
func (l *Ledger) recordEnd(by string, c Claim) error {
	_, err := l.record("release", pair{"agent", by}, pair{"path", c.Path}, pair{"previous", claimEntry(c.Agent, c.Since, nil)}, pair{"force", true}, pair{"via", "ended"})
	return err
}

// Release releases path and returns the audit record. Without force it refuses a
// path of another agent with ErrClaimed. An unclaimed path is no error: held is
// false, and nothing is written.
func (l *Ledger) Release(agent, path string, force bool) (rec json.RawMessage, held bool, err error) {
	recs, free, err := l.ReleaseAll(agent, []string{path}, force)
	if err != nil {
		return nil, false, err
	}
	return recs[0], len(free) == 0, nil
}

// ReleaseAll is Release for several paths: all or none. It also returns the
// paths, as given, that were not claimed.
func (l *Ledger) ReleaseAll(agent string, paths []string, force bool) (recs []json.RawMessage, free []string, err error) {
	keys, err := l.owned(agent, paths)
	if err != nil {
		return nil, nil, err
	}
	err = l.changeLocked(func() error {
		var held []bool
		recs, held, err = l.release(agent, keys, force, "")
		for i := range held {
			if !held[i] {
				free = append(free, paths[i])
			}
		}
		return err
	})
	return recs, free, err
}

func (l *Ledger) owned(agent string, paths []string) (keys []string, err error) {
	if err := checkAgent(agent); err != nil {
		return nil, err
	}
	for _, p := range paths {
		key, err := l.Resolve(p)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (l *Ledger) release(agent string, keys []string, force bool, via string) (recs []json.RawMessage, held []bool, err error) {
	var previous []json.RawMessage
	err = l.change(func(o jsontext.Object) (jsontext.Object, error) {
		previous, held = make([]json.RawMessage, len(keys)), make([]bool, len(keys))
		for i, key := range keys {
			at := o.Index(key)
			if at < 0 {
				continue
			}
			if owner := parseClaim(o[at]); owner.Agent != agent && !force {
				return nil, refusal{fmt.Sprintf("Path claimed by %s, not %s: %s. Use --force to release anyway.", owner.Agent, agent, key), ErrClaimed}
			}
			previous[i], held[i] = asClaimed(o[at].Value), true
			o = o.Without(key)
		}
		return o, nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i, key := range keys {
		members := []pair{{"agent", agent}, {"path", key}, {"previous", previous[i]}, {"force", force}, {"via", via}}
		rec := line(l.stamp(), "release", members)
		if held[i] {
			if rec, err = l.record("release", members...); err != nil {
				return nil, nil, err
			}
		}
		recs = append(recs, rec)
	}
	return recs, held, nil
}

// asClaimed returns an entry without its lease and the entry that it had replaced.
func asClaimed(value json.RawMessage) json.RawMessage {
	o, err := jsontext.Parse(value)
	if err != nil {
		return value
	}
	return o.Without("previous").Without("lease").Compact()
}
