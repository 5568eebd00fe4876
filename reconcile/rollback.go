package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/record"
)

// ErrNoApply means that there is no such apply to roll back.
var ErrNoApply = errors.New("no such apply")

// RollbackPlan plans to undo one apply. An empty id means the last one not
// undone: of those made in the project at hand or, outside a project, of those
// that changed the host. For an apply in a project that is gone, only targets
// outside the project are undone.
//
// A target that is still as the apply left it gets back its exact bytes; one
// that was changed since gets back the untouched leaves that are ours; the rest
// is a conflict, unless c.Force. Apply the plan with ApplyOptions.RollbackOf
// set to the entry's ID.
func (e *Engine) RollbackPlan(ctx context.Context, r ReadEnv, s *Store, id string, c Choice) (*Plan, Entry, error) {
	entry, err := s.entry(id)
	if err != nil {
		return nil, Entry{}, err
	}
	p := &Plan{Choice: c}
	elsewhere := func(step EntryStep) bool { return s.elsewhere(entry, step) }
	if slices.ContainsFunc(entry.Changes, elsewhere) {
		dir := entry.LockOwner.ProjectDir()
		switch gone, err := isGone(dir); {
		case err != nil:
			return nil, entry, err
		case !gone:
			return nil, entry, advice.New(fmt.Errorf("apply %s was made in %s", entry.ID, dir), advice.RollBackThere(entry.ID))
		}
		p.Notes = append(p.Notes, Note{Warning: true, Text: fmt.Sprintf("the project %s is gone; only what lies outside of it is undone", dir)})
		entry.Changes = slices.DeleteFunc(slices.Clone(entry.Changes), elsewhere)
	}
	for _, step := range slices.Backward(entry.Changes) {
		kind := e.provider(step.Address.Kind())
		if kind == nil {
			continue
		}
		if permanent, ok := kind.(Permanent); ok && step.Writes {
			p.Notes = append(p.Notes, Note{Warning: true, Text: fmt.Sprintf("%s is not undone: %s", step.Address, permanent.NotUndone())})
			continue
		}
		if step.Changed() {
			p.Changes = append(p.Changes, undo(ctx, r, s, kind, step, c))
		}
	}
	sort.Slice(p.Changes, func(i, j int) bool {
		return compareKeys(LeafKey(p.Changes[i].Target.Resource.Address), LeafKey(p.Changes[j].Target.Resource.Address)) < 0
	})
	return p, entry, s.err
}

// isGone reports whether the folder dir no longer exists. A folder that cannot
// be examined is an error.
func isGone(dir string) (bool, error) {
	_, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// isLast reports whether e may be the apply to undo when none is named.
func (s *Store) isLast(e Entry) bool {
	switch {
	case e.RolledBack != "" || e.RollbackOf != "":
		return false
	case s.lockOwner != "":
		return e.LockOwner == s.lockOwner
	}
	return slices.Contains(e.Owners(), HostOwner)
}

// entry finds one apply in the history.
func (s *Store) entry(id string) (Entry, error) {
	heads, err := s.Heads()
	if err != nil {
		return Entry{}, err
	}
	for _, e := range heads {
		switch {
		case id == "" && e.RolledBack == "" && e.RollbackOf == "":
			full, err := s.readEntry(e.ID) // a head does not name its owners
			if err != nil {
				return Entry{}, err
			}
			if s.isLast(full) {
				return full, nil
			}
		case id != "" && e.ID == id && e.RolledBack != "":
			return Entry{}, fmt.Errorf("apply %s was undone already, by %s", id, e.RolledBack)
		case id != "" && e.ID == id:
			return s.readEntry(e.ID)
		}
	}
	if id == "" {
		return Entry{}, advice.New(fmt.Errorf("%w to roll back: nothing was applied here, or all of it is undone", ErrNoApply), advice.ListApplies)
	}
	return Entry{}, advice.New(fmt.Errorf("%w: %s", ErrNoApply, id), advice.ListThem)
}

// undo is the change that undoes one step.
func undo(ctx context.Context, r ReadEnv, s *Store, p Provider, step EntryStep, choice Choice) Change {
	t := Target{Resource: Resource{Address: step.Address, Format: step.Format}, Aliases: step.Aliases, asked: map[Owner]Address{}}
	for _, list := range [][]record.Owned{step.Got, step.Had} {
		for _, x := range list {
			t.asked[x.Owner] = x.Record.Address
			for _, l := range x.Record.Leaves {
				if !slices.ContainsFunc(t.Last, func(y LeafRecord) bool { return y.Key == l.Key }) {
					t.Last = append(t.Last, l)
				}
			}
			if t.Private == nil {
				t.Private = x.Record.Private
			}
			t.Resource.DependsOn = x.Record.DependsOn
			t.Resource.Local = x.Record.Local
		}
	}
	sortLeaves(t)
	t.Stray = len(t.Last) == 0 && step.Writes // never recorded
	c := Change{Target: t, Before: p.Observe(ctx, r, []Target{t})[0]}
	for _, list := range [][]record.Owned{step.Had, step.Got} {
		for _, x := range list {
			if !slices.Contains(c.Owners, x.Owner) {
				c.Owners = append(c.Owners, x.Owner)
			}
		}
	}
	now := s.of(t)
	written := func(key LeafKey) bool { return slices.Contains(step.Keys, key) }
	claimed := func(key LeafKey) bool { return written(key) && shared(now, c.Owners, key, c.Before.Live[key]) }
	release := func(key LeafKey, why string) {
		c.Leaves = append(c.Leaves, LeafChange{Key: key, Last: recorded(t, key), Decision: Decision{Action: Release, Meaning: why}})
	}
	exact := choice.Force || c.Before.Token == step.After && !slices.ContainsFunc(step.Keys, claimed)
	if exact && c.Before.Presence != Unknown && c.Before.Token != step.Before {
		c.Exact, c.ExactMode = &step.Before, step.Mode
	}
	for _, key := range t.Keys() {
		switch {
		case c.Before.Presence == Unknown:
			c.Leaves = append(c.Leaves, LeafChange{Key: key, Decision: Decision{Action: Unclear, Meaning: c.Before.Reason}})
		case !step.Writes || !written(key):
			release(key, "recorded by that apply only")
		case c.Before.Presence == Blocked && step.Before == "":
			release(key, "something else is in its place: left to you")
		case c.Before.Token == step.Before:
			release(key, "it is as it was before that apply")
		case exact:
			c.Leaves = append(c.Leaves, LeafChange{Key: key, Last: recorded(t, key), Decision: exactly(step, c.Before)})
		case claimed(key):
			release(key, "another owner wants it by now")
		default:
			c.Leaves = append(c.Leaves, undoLeaf(key, step, c.Before))
		}
	}
	for i, l := range c.Leaves {
		if c.Before.ReadOnly && l.Writes() {
			c.Leaves[i].Decision = Decision{Action: Clash, Meaning: c.Before.Reason, ReadOnly: true}
		}
	}
	same := true
	for _, o := range c.Owners {
		rec := unrecord(step, o, c.Leaves, now)
		if len(rec.Leaves) > 0 {
			c.Next = append(c.Next, rec)
		}
		same = same && slices.EqualFunc(rec.Leaves, recordFor(now, o).Leaves, func(a, b LeafRecord) bool { return a.Same(&b) })
	}
	if c.Action = summary(c.Leaves, c.Before); c.Action == Release && same {
		c.Action, c.Leaves = None, nil
	}
	return c
}

// exactly is the decision for every leaf of a target that is restored as a
// whole.
func exactly(step EntryStep, now Observation) Decision {
	switch {
	case step.Before == "":
		return Decision{Action: Delete, Meaning: "it was not there before"}
	case now.Presence == Absent:
		return Decision{Action: Create, Meaning: "exactly as it was before"}
	}
	return Decision{Action: Update, Meaning: "exactly as it was before"}
}

// recordFor is o's record in records; an empty one if there is none.
func recordFor(records []Record, o Owner) *Record {
	for i := range records {
		if records[i].Owner == o {
			return &records[i]
		}
	}
	return &Record{}
}

// unrecord is owner o's record once leaves are as they were before step. It
// keeps what later applies recorded of other leaves, and undecided ones.
func unrecord(step EntryStep, o Owner, leaves []LeafChange, now []Record) Record {
	had, got := record.Of(step.Had, o), record.Of(step.Got, o)
	rec := *had
	if rec.Address == "" {
		rec = *got
	}
	current := recordFor(now, o)
	rec.Owner = o
	rec.Leaves = nil
	taken := map[LeafKey]bool{}
	for _, l := range leaves {
		if l.Action == Clash || l.Action == Unclear || had.Leaf(l.Key).Same(got.Leaf(l.Key)) {
			continue
		}
		taken[l.Key] = true
		if was := had.Leaf(l.Key); was != nil {
			rec.Leaves = append(rec.Leaves, *was)
		}
	}
	for _, l := range current.Leaves {
		if !taken[l.Key] {
			rec.Leaves = append(rec.Leaves, l)
		}
	}
	sort.Slice(rec.Leaves, func(i, j int) bool { return compareKeys(rec.Leaves[i].Key, rec.Leaves[j].Key) < 0 })
	return rec
}

// undoLeaf undoes one leaf of a target that changed since.
func undoLeaf(key LeafKey, step EntryStep, now Observation) LeafChange {
	var had, got *LeafRecord
	for i := range step.Had {
		if l := step.Had[i].Record.Leaf(key); l != nil {
			had = l
		}
	}
	for i := range step.Got {
		if l := step.Got[i].Record.Leaf(key); l != nil {
			got = l
		}
	}
	live, there := now.Live[key]
	l := LeafChange{Key: key, Last: got}
	switch {
	case got != nil && !there && had == nil && got.Provenance == Created:
		l.Decision = Decision{Action: Release, Meaning: "gone already; it was not there before either"}
	case got == nil && !there, got != nil && there && live == got.Live && got.Own != Exclusive:
		prior := LeafRecord{Key: key, Prior: BackupID(step.Before)}
		if got != nil {
			prior.Private = got.Private
		}
		l.Last = &prior
		l.Decision = Decision{Action: PutBack, Meaning: "as it was before; the rest was changed since and stays"}
		if had == nil && got != nil && got.Provenance == Created {
			l.Decision = Decision{Action: Delete, Meaning: "it was not there before; the rest was changed since and stays"}
		}
	default:
		l.Decision = Decision{Action: Clash, Meaning: "changed since that apply; " + advice.ForcePrior}
	}
	return l
}

func recorded(t Target, key LeafKey) *LeafRecord {
	for i := range t.Last {
		if t.Last[i].Key == key {
			return &t.Last[i]
		}
	}
	return nil
}
