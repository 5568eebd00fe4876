package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/journal"
	"aisync.dev/aisync/reconcile/record"
)

// replay updates the records in memory with what j's apply made true. A step
// with a noted end counts as noted, unless a loss of power undid it; of the
// others it examines each leaf, and records exactly those that are as wanted.
// It writes nothing and returns the entry with the outcome of each step.
func (e *Engine) replay(ctx context.Context, r ReadEnv, s *Store, j *journal.Journal) (Entry, []string) {
	entry := j.Entry()
	entry.Changes = slices.Clone(entry.Changes)
	var said []string
	for i, step := range entry.Changes {
		if s.elsewhere(entry, step) {
			continue
		}
		intent := step
		if done, ok := j.Done(step.Address); ok && !j.Running() && e.undone(ctx, r, done) {
			j.Disbelieve(step.Address)
		}
		if done, ok := j.Done(step.Address); ok {
			step = done
		} else {
			step = e.look(ctx, r, step)
			step.Dirs = slices.DeleteFunc(slices.Clone(step.Dirs), func(d fsys.LogicalPath) bool {
				_, err := r.FS.Lstat(d)
				return errors.Is(err, fs.ErrNotExist) // never made
			})
			if step.After != step.Before {
				said = append(said, fmt.Sprintf("%s: had been written", step.Address))
			}
		}
		entry.Changes[i] = step
		for _, list := range [][]record.Owned{intent.Had, intent.Got} {
			for _, x := range list {
				for _, a := range append([]Address{step.Address}, step.Aliases...) {
					s.set(x.Owner, a, nil)
				}
				s.addDirs(x.Owner, step.Dirs)
			}
		}
		for _, g := range step.Got {
			rec := g.Record
			rec.Owner = g.Owner
			s.set(g.Owner, rec.Address, &rec)
		}
	}
	return entry, said
}

// undone reports whether the target of step, whose end was noted, is as
// before the step: a disk may keep the note and lose the change.
func (e *Engine) undone(ctx context.Context, r ReadEnv, step EntryStep) bool {
	if !step.Writes || step.Before == step.After || !step.Address.IsPath() {
		return false
	}
	o := e.look(ctx, r, step)
	return o.After == step.Before
}

// look finds the outcome of a step without a noted end.
func (e *Engine) look(ctx context.Context, r ReadEnv, step EntryStep) EntryStep {
	had, got := step.Had, step.Got
	step.Got = had
	p := e.provider(step.Address.Kind())
	_, foretells := p.(Foreteller)
	_, recallable := p.(Recallable)
	if p == nil || !step.Writes || step.Path == "" && !foretells && !recallable && !ofProjectItself(step.Address) {
		return step
	}
	t := Target{Resource: Resource{Address: step.Address, Format: step.Format}}
	for _, g := range got {
		for _, l := range g.Record.Leaves {
			if !slices.ContainsFunc(t.Resource.Leaves, func(x Leaf) bool { return x.Key == l.Key }) {
				t.Resource.Leaves = append(t.Resource.Leaves, Leaf{Key: l.Key, Own: l.Own, Body: known(l.Wanted())})
			}
		}
	}
	for _, h := range had {
		for _, l := range h.Record.Leaves {
			if !slices.ContainsFunc(t.Last, func(x LeafRecord) bool { return x.Key == l.Key }) {
				t.Last = append(t.Last, l)
			}
		}
	}
	if !step.Address.IsPath() {
		// Only a note can tell what a name stands for: for a new one, the
		// foretold note.
		for _, g := range got {
			for _, l := range g.Record.Leaves {
				if len(l.Private) > 0 && !slices.ContainsFunc(t.Last, func(x LeafRecord) bool { return x.Key == l.Key }) {
					t.Last = append(t.Last, l)
				}
			}
		}
	}
	sortLeaves(t)
	switch o := p.Observe(ctx, r, []Target{t})[0]; o.Presence {
	case Unknown:
		if step.Address.IsPath() { // the record tells whose bytes they are, once they can be read
			step.Got = claimed(had, got)
		}
	case Blocked:
	default:
		step.After = o.Token
		step.Got = settled(o, had, got)
	}
	return step
}

// claimed is each owner's records, with the leaves of got that had no record:
// of a target that cannot be observed nothing is forgotten.
func claimed(had, got []record.Owned) []record.Owned {
	var out []record.Owned
	for _, x := range got {
		rec, old := x.Record, record.Of(had, x.Owner)
		rec.Leaves = slices.Clone(old.Leaves)
		for _, l := range x.Record.Leaves {
			if old.Leaf(l.Key) == nil {
				rec.Leaves = append(rec.Leaves, l)
			}
		}
		sort.Slice(rec.Leaves, func(i, j int) bool { return compareKeys(rec.Leaves[i].Key, rec.Leaves[j].Key) < 0 })
		out = append(out, record.Owned{Owner: x.Owner, Record: rec})
	}
	for _, x := range had {
		if record.Of(got, x.Owner).Address == "" {
			out = append(out, x)
		}
	}
	return out
}

// settled is, for each owner, the new record of each leaf that is as the step
// wanted it, and the old one of the others that still exist.
func settled(o Observation, had, got []record.Owned) []record.Owned {
	var out []record.Owned
	owners := map[Owner]bool{}
	for _, list := range [][]record.Owned{got, had} {
		for _, x := range list {
			if owners[x.Owner] {
				continue
			}
			owners[x.Owner] = true
			rec := x.Record
			rec.Leaves = nil
			old, now := record.Of(had, x.Owner), record.Of(got, x.Owner)
			for _, l := range now.Leaves {
				if o.Live[l.Key] == l.Live {
					rec.Leaves = append(rec.Leaves, l)
				} else if was := old.Leaf(l.Key); was != nil {
					rec.Leaves = append(rec.Leaves, *was)
				}
			}
			for _, l := range old.Leaves {
				if _, there := o.Live[l.Key]; there && now.Leaf(l.Key) == nil {
					rec.Leaves = append(rec.Leaves, l)
				}
			}
			if len(rec.Leaves) > 0 {
				sort.Slice(rec.Leaves, func(i, j int) bool { return compareKeys(rec.Leaves[i].Key, rec.Leaves[j].Key) < 0 })
				out = append(out, record.Owned{Owner: x.Owner, Record: rec})
			}
		}
	}
	return out
}

// known is a wanted value of which only the fingerprint is known.
type known Fingerprint

func (k known) Fingerprint() Fingerprint  { return Fingerprint(k) }
func (k known) Redacted() json.RawMessage { return nil }
