package file

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/merge"
	"aisync.dev/aisync/reconcile"
)

// Since shows what became of what was recorded: from that (-) to what is there
// now (+), for the leaves of c that drifted. Explain goes the other way, to
// what shall be.
func (Provider) Since(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	a := c.Target.Resource.Address
	s := look(r.FS, a.Path(r.Home), a.Name(), true)
	if s.presence != reconcile.Absent && s.presence != reconcile.Present {
		return nil // the reason is the meaning of the change
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
			lines = append(lines, wholeSince(r, l, s)...)
			continue
		}
		is, there := live[l.Key]
		lines = append(lines, memberSince(l, is.Value, there)...)
	}
	return lines
}

// wholeSince is Since of a file that is one leaf.
func wholeSince(r reconcile.ReadEnv, l reconcile.LeafChange, s seen) []reconcile.Line {
	base, known := baseOf(r, l)
	switch {
	case !known && s.presence == reconcile.Absent:
		return nil
	case !known:
		return []reconcile.Line{{Op: ' ', Text: "is not what was recorded; the recorded text is not known here"}}
	}
	made := whole{doc: base, exec: strings.HasSuffix(string(l.Last.Live), "+x")}
	return between(made, whole{doc: s.doc, exec: s.executable(), absent: s.presence == reconcile.Absent})
}

// memberSince is Since of one entry. What was recorded of it is a fingerprint:
// its value is known only while the spec still wants the same.
func memberSince(l reconcile.LeafChange, is merge.Value, there bool) []reconcile.Line {
	if holdsSecret(l) {
		if !there {
			return []reconcile.Line{{Op: '-', Text: label(l.Key)}}
		}
		return []reconcile.Line{{Op: '~', Text: label(l.Key) + " holds a secret, and is not what was recorded"}}
	}
	var was merge.Value
	if l.Want != nil && l.Rel.WantLast {
		was = wanted(l)
	}
	switch {
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
