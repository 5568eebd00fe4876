package file

import (
	"slices"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// wrongSide is what a plan and drift show of a line that readStanding leaves out.
const wrongSide = " stands on the wrong side of an exception, a line with !"

// readStanding is readLeaves without the lines that do not stand where they mean
// what they say: those that aisync made and that the list of the spec now has on
// the other side of an exception (a line "!keep.log" and its pattern, where the
// last match decides). Setting such a line moves it.
func readStanding(t reconcile.Target, doc []byte, keys []reconcile.LeafKey) (map[reconcile.LeafKey]merge.Leaf, error) {
	leaves, err := readLeaves(t, doc, keys)
	if err != nil {
		return nil, err
	}
	for _, group := range groupsOf(t) {
		if !slices.ContainsFunc(group, merge.IsException) {
			continue
		}
		for i, line := range group {
			key := reconcile.LeafKey(merge.LineKey(line))
			l, there := leaves[key]
			made := slices.ContainsFunc(t.Last, func(r reconcile.LeafRecord) bool {
				return r.Key == key && r.Provenance == reconcile.Created
			})
			if !there || !made {
				continue
			}
			late := slices.ContainsFunc(group[:i], func(before string) bool {
				b, ok := leaves[reconcile.LeafKey(merge.LineKey(before))]
				return ok && b.Line > l.Line && merge.IsException(before) != merge.IsException(line)
			})
			if late {
				delete(leaves, key)
			}
		}
	}
	return leaves, nil
}
