package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrNoApply says that there is no such apply to roll back.
var ErrNoApply = errors.New("no such apply")

// RollbackPlan says what it takes to undo one apply: the last one that is not
// undone, where id is "". A target that is as that apply left it gets back its
// exact bytes; one that was changed since gets back the leaves that are ours
// and untouched; what is left is a conflict, unless c.Force. Apply it with
// ApplyOptions.RollbackOf set to the entry's ID.
func (e *Engine) RollbackPlan(ctx context.Context, r ReadEnv, s *Store, id string, c Choice) (*Plan, Entry, error) {
	entry, err := s.entry(id)
	if err != nil {
		return nil, Entry{}, err
	}
	if entry.LockOwner != s.lockOwner && anyProjectPath(entry) {
		return nil, entry, fmt.Errorf("apply %s was made in %s; run aisync rollback there", entry.ID, entry.LockOwner.ProjectDir())
	}
	p := &Plan{Choice: c}
	for _, step := range slices.Backward(entry.Changes) {
		kind := e.provider(step.Address.Kind())
		if kind == nil {
			continue
		}
		if permanent, ok := kind.(Permanent); ok && step.Writes {
			p.Notes = append(p.Notes, Note{Warning: true, Text: fmt.Sprintf("%s is not undone: %s", step.Address, permanent.NotUndone())})
			continue
		}
		p.Changes = append(p.Changes, undo(ctx, r, kind, step, c))
	}
	slices.SortFunc(p.Changes, func(a, b Change) int {
		return compareKeys(LeafKey(a.Target.Resource.Address), LeafKey(b.Target.Resource.Address))
	})
	return p, entry, nil
}

// entry finds one apply in the history.
func (s *Store) entry(id string) (Entry, error) {
	history, err := s.History()
	if err != nil {
		return Entry{}, err
	}
	for _, e := range history {
		switch {
		case id == "" && e.RolledBack == "" && e.RollbackOf == "":
			return e, nil
		case id != "" && e.ID == id && e.RolledBack != "":
			return Entry{}, fmt.Errorf("apply %s was undone already, by %s", id, e.RolledBack)
		case id != "" && e.ID == id:
			return e, nil
		}
	}
	if id == "" {
		return Entry{}, fmt.Errorf("%w to roll back: nothing was applied here, or all of it is undone", ErrNoApply)
	}
	return Entry{}, fmt.Errorf("%w: %s; aisync rollback --list shows them", ErrNoApply, id)
}

// undo is the change that takes one step back.
func undo(ctx context.Context, r ReadEnv, p Provider, step EntryStep, choice Choice) Change {
	t := Target{Resource: Resource{Address: step.Address, Format: step.Format}}
	for _, list := range [][]ownedRecord{step.Got, step.Had} {
		for _, x := range list {
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
	c := Change{Target: t, Before: p.Observe(ctx, r, []Target{t})[0]}
	for _, list := range [][]ownedRecord{step.Had, step.Got} {
		for _, x := range list {
			if !slices.Contains(c.Owners, x.Owner) {
				c.Owners = append(c.Owners, x.Owner)
			}
		}
	}
	for _, h := range step.Had {
		rec := h.Record
		rec.Owner = h.Owner
		c.Next = append(c.Next, rec)
	}
	switch {
	case !step.Writes:
		c.Leaves = []LeafChange{{Decision: Decision{Action: Release, Meaning: "recorded by that apply only"}}}
	case c.Before.Presence == Unknown:
		c.Leaves = []LeafChange{{Decision: Decision{Action: Unclear, Meaning: c.Before.Reason}}}
	case c.Before.Token == step.After || choice.Force:
		c.Exact, c.ExactMode = &step.Before, step.Mode
		d := Decision{Action: Update, Meaning: "exactly as it was before"}
		switch {
		case step.Before == "":
			d = Decision{Action: Delete, Meaning: "it was not there before"}
		case c.Before.Presence == Absent:
			d.Action = Create
		}
		for _, key := range step.Keys {
			c.Leaves = append(c.Leaves, LeafChange{Key: key, Last: recorded(t, key), Decision: d})
		}
	default:
		for _, key := range step.Keys {
			c.Leaves = append(c.Leaves, undoLeaf(key, step, c.Before))
		}
	}
	c.Action = summary(c.Leaves, c.Before)
	return c
}

// undoLeaf takes back one leaf of a target that changed since.
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
		l.Decision = Decision{} // it was not there before either
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
		l.Decision = Decision{Action: Clash, Meaning: "changed since that apply; --force puts back what was there before"}
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

// markRolledBack notes in an apply's entry that it was undone.
func (s *Store) markRolledBack(undone, by string) (Entry, error) {
	e, err := s.entry(undone)
	if err != nil {
		return Entry{}, err
	}
	e.RolledBack = by
	return e, nil
}
