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
	gone := make([]memberOp, len(ops))
	for i, op := range ops {
		gone[i] = memberOp{op.format, merge.Op{Key: op.Key}}
		j := slices.IndexFunc(c.Leaves, func(l reconcile.LeafChange) bool { return l.Key == reconcile.LeafKey(op.Key) })
		if op.Value == nil || j < 0 || !c.Leaves[j].Drift || !c.Leaves[j].Rel.WantLast {
			return nil, false
		}
	}
	was, ok := r.Committed(a.Path(r.Home))
	if !ok {
		return nil, false
	}
	return was, holds(c.Target, was, ops) && sameBeside(was, s.doc, gone, made)
}

// asReplaced returns the text that aisync replaced leaves of, if c puts these
// back: all of its bytes where nothing else in the file has changed since, and
// otherwise its lines merged with what has.
func asReplaced(r reconcile.ReadEnv, c reconcile.Change, s seen, ops []memberOp, made []string) ([]byte, bool) {
	if s.presence != reconcile.Present {
		return nil, false
	}
	gone := make([]memberOp, len(ops))
	for i, op := range ops {
		gone[i] = memberOp{op.format, merge.Op{Key: op.Key}}
	}
	var tried []reconcile.BackupID
	for _, l := range c.Leaves {
		if l.Action != reconcile.PutBack || slices.Contains(tried, l.Last.Prior) {
			continue
		}
		tried = append(tried, l.Last.Prior)
		was, err := backup(r, l.Last.Prior)
		if err != nil || !holds(c.Target, was, ops) {
			continue
		}
		if sameBeside(was, s.doc, gone, made) {
			return was, true
		}
		for _, merged := range putAmong(was, s.doc, ops, made) {
			if holds(c.Target, merged, ops) && sameBeside(merged, s.doc, gone, made) {
				return merged, true
			}
		}
	}
	return nil, false
}

// putAmong returns what doc may be with the members of ops as was spells them.
// Those that are in one piece there are put in place of what is in doc; the lines
// of the others are merged with those of doc. The caller checks the results.
func putAmong(was, doc []byte, ops []memberOp, made []string) [][]byte {
	var pieces, lines []memberOp
	for _, op := range ops {
		if op.Value == nil || op.Raw != "" {
			pieces = append(pieces, op)
		} else {
			lines = append(lines, memberOp{op.format, merge.Op{Key: op.Key}})
		}
	}
	doc, _, err := edit(doc, pieces, made)
	if err != nil {
		return nil
	}
	base, _, err1 := edit(was, lines, made)
	now, _, err2 := edit(doc, lines, made)
	if err1 != nil || err2 != nil || bytes.Contains(was, separator) || bytes.Contains(now, separator) {
		return nil
	}
	out := [][]byte{doc}
	for _, turn := range []func([]byte) []byte{apart, upsideDown} { // which of equal lines are matched depends on it
		if merged, ok := merge.Merge3(turn(base), turn(now), turn(was)); ok {
			out = append(out, together(merged), together(upsideDown(together(merged))))
		}
	}
	return out
}

// separator stands between lines while they are merged, so that changes of
// neighbouring lines do not touch.
var separator = []byte("\n\x01\n")

func apart(b []byte) []byte {
	return slices.Concat(separator, bytes.ReplaceAll(b, []byte("\n"), separator), separator)
}

func together(b []byte) []byte {
	b = bytes.TrimSuffix(bytes.TrimPrefix(b, separator), separator)
	return bytes.ReplaceAll(b, separator, []byte("\n"))
}

// upsideDown is apart with the last line first.
func upsideDown(b []byte) []byte {
	lines := bytes.Split(b, []byte("\n"))
	slices.Reverse(lines)
	return apart(bytes.Join(lines, []byte("\n")))
}

// holds reports whether doc has the values that ops set, and not the members
// that they remove.
func holds(t reconcile.Target, doc []byte, ops []memberOp) bool {
	keys := make([]reconcile.LeafKey, len(ops))
	for i, op := range ops {
		keys[i] = reconcile.LeafKey(op.Key)
	}
	leaves, err := readLeaves(t, doc, keys)
	return err == nil && !slices.ContainsFunc(ops, func(op memberOp) bool {
		l, ok := leaves[reconcile.LeafKey(op.Key)]
		return ok != (op.Value != nil) || ok && valueFingerprint(l.Value) != valueFingerprint(op.Value)
	})
}

// sameBeside reports whether a and b have the same bytes beside the members
// that gone removes: after these are removed, or set to one value where both
// have them, as a comment beside a member may go with it.
func sameBeside(a, b []byte, gone []memberOp, made []string) bool {
	same := func(ops []memberOp) bool {
		x, _, err1 := edit(a, ops, made)
		y, _, err2 := edit(b, ops, made)
		return err1 == nil && err2 == nil && bytes.Equal(x, y)
	}
	if same(gone) {
		return true
	}
	level := slices.Clone(gone)
	for i, op := range level {
		if has(a, op) && has(b, op) {
			level[i].Value = merge.Value("0")
		}
	}
	return same(level)
}

func has(doc []byte, op memberOp) bool {
	leaves, err := merge.Read(op.format, doc, []string{op.Key})
	return err == nil && len(leaves) > 0
}
