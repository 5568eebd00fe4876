package file

import (
	"context"
	"fmt"
	"slices"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// Since implements reconcile.Historian: how the drifted leaves of c differ from
// the record. Explain goes the other way, to what is wanted.
func (Provider) Since(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	return masked(since(r, c))
}

func since(r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	a := c.Target.Resource.Address
	s := asCommitted(r, a, see(r, c.Target, true))
	if s.presence != reconcile.Absent && s.presence != reconcile.Present {
		return nil // the change's meaning is the reason
	}
	drifted := slices.DeleteFunc(slices.Clone(c.Leaves), func(l reconcile.LeafChange) bool { return !l.Drift || l.Last == nil })
	var keys []reconcile.LeafKey
	for _, l := range drifted {
		if l.Key != "" {
			keys = append(keys, l.Key)
		}
	}
	var live map[reconcile.LeafKey]merge.Leaf
	if s.presence == reconcile.Present {
		var err error
		if live, err = readLeaves(c.Target, s.doc, keys); err != nil {
			return nil
		}
	}
	var lines []reconcile.Line
	for _, l := range drifted {
		if l.Key == "" {
			lines = append(lines, wholeSince(r, a, l, s)...)
			continue
		}
		is, there := live[l.Key]
		lines = append(lines, memberSince(l, ownPart(c.Target, l.Key, is.Value), there, recorded(r, c.Target, l))...)
	}
	return lines
}

// wholeSince is Since of a file that is one leaf.
func wholeSince(r reconcile.ReadEnv, a reconcile.Address, l reconcile.LeafChange, s seen) []reconcile.Line {
	base, known := baseOf(r, a, l)
	switch {
	case !known && s.presence == reconcile.Absent:
		return nil
	case !known:
		return []reconcile.Line{{Op: ' ', Text: "differs from the record; the recorded text is not on this machine"}}
	}
	made := whole{doc: base, exec: executes(l.Last.Live)}
	return between(made, whole{doc: s.doc, exec: s.exec, absent: s.presence == reconcile.Absent})
}

// recorded is the value whose fingerprint l's record has: the spec's, if that
// did not move, or the one committed with the lock. nil if neither is known.
func recorded(r reconcile.ReadEnv, t reconcile.Target, l reconcile.LeafChange) merge.Value {
	if l.Want != nil && l.Rel.WantLast {
		if v := wanted(l); v != nil { // else it is known by its fingerprint alone
			return v
		}
	}
	a := t.Resource.Address
	if l.Last == nil || r.Committed == nil || !a.InProject() {
		return nil
	}
	doc, ok := r.Committed(a.Path(r.Home))
	if !ok {
		return nil
	}
	leaves, err := readLeaves(t, doc, []reconcile.LeafKey{l.Key})
	if leaf, ok := leaves[l.Key]; err == nil && ok {
		if was := ownPart(t, l.Key, leaf.Value); valueFingerprint(was) == l.Last.Live {
			return was
		}
	}
	return nil
}

// memberSince is Since of one entry, whose recorded value is was; nil if that
// is unknown.
func memberSince(l reconcile.LeafChange, is merge.Value, there bool, was merge.Value) []reconcile.Line {
	if holdsSecret(l) {
		if !there {
			return []reconcile.Line{{Op: '-', Text: label(l.Key)}}
		}
		return []reconcile.Line{{Op: '~', Text: label(l.Key) + " holds a secret, and is not what was recorded"}}
	}
	switch {
	case there && isClaimed(l) && was == nil:
		return []reconcile.Line{{Op: '~', Text: label(l.Key) + " is not what was recorded"}}
	case !there && was == nil:
		return []reconcile.Line{{Op: '-', Text: label(l.Key)}}
	case !there:
		return shownWith('-', l.Key, was)
	case was == nil:
		return []reconcile.Line{{Op: '~', Text: fmt.Sprintf("%s is %s, not what was recorded", label(l.Key), redactLeaf(string(l.Key), is))}}
	}
	if text, ok := blockText(l.Key, was); ok {
		now, _ := blockText(l.Key, is)
		return append([]reconcile.Line{{Op: '~', Text: label(l.Key)}}, unified([]byte(text+"\n"), []byte(now+"\n"))...)
	}
	return changed(l, is, was)
}
