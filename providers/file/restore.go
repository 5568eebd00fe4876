package file

import (
	"bytes"
	"slices"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// asItWas returns the text that was committed with the lock, if it differs from
// s in nothing but the members that c puts back. They then return to their
// former places, and git sees no change.
func asItWas(r reconcile.ReadEnv, c reconcile.Change, s seen, ops []memberOp, made []string) ([]byte, bool) {
	a := c.Target.Resource.Address
	if r.Committed == nil || !a.InProject() || s.presence != reconcile.Present {
		return nil, false
	}
	keys := make([]reconcile.LeafKey, len(ops))
	gone := make([]memberOp, len(ops))
	for i, op := range ops {
		keys[i] = reconcile.LeafKey(op.Key)
		gone[i] = memberOp{op.format, merge.Op{Key: op.Key}}
		j := slices.IndexFunc(c.Leaves, func(l reconcile.LeafChange) bool { return l.Key == keys[i] })
		if op.Value == nil || j < 0 || !c.Leaves[j].Drift || !c.Leaves[j].Rel.WantLast {
			return nil, false
		}
	}
	was, ok := r.Committed(a.Path(r.Home))
	if !ok {
		return nil, false
	}
	leaves, err := readLeaves(c.Target, was, keys)
	if err != nil {
		return nil, false
	}
	for i, op := range ops {
		if l, ok := leaves[keys[i]]; !ok || valueFingerprint(l.Value) != valueFingerprint(op.Value) {
			return nil, false
		}
	}
	before, _, err1 := edit(was, gone, made)
	now, _, err2 := edit(s.doc, gone, made)
	return was, err1 == nil && err2 == nil && bytes.Equal(before, now)
}
