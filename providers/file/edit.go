package file

import (
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// formatOf says how the leaf key is kept in t: as its declaration says, with
// lines and blocks marked as the wanted or recorded block says, else as the
// file's name suggests.
func formatOf(t reconcile.Target, key reconcile.LeafKey) merge.Format {
	byName := merge.FormatOf(t.Resource.Address.Name())
	text := strings.HasPrefix(string(key), "line:") || strings.HasPrefix(string(key), "block:")
	switch f := merge.Format(t.Resource.Format); {
	case f != "" && f != merge.Text:
		return f
	case !text:
		return byName
	}
	if style := styleOf(t, key); style != "" {
		return style
	}
	return merge.TextFormat(byName)
}

// styleOf is what a block itself says of its markers; "" where it says nothing.
func styleOf(t reconcile.Target, key reconcile.LeafKey) merge.Format {
	for _, l := range t.Resource.Leaves {
		if m, ok := l.Body.(member); ok && l.Key == key {
			return m.style
		}
	}
	for _, l := range t.Last {
		if l.Key == key {
			return noteOf(l).Style
		}
	}
	return ""
}

// memberOp is an edit of one member, in its format.
type memberOp struct {
	format merge.Format
	merge.Op
}

// edit is merge.Edit where leaves may be marked in more than one way. It
// returns the document and, for every op, what was made around its leaf.
func edit(doc []byte, ops []memberOp, made []string) ([]byte, [][]string, error) {
	around := make([][]string, len(ops))
	var formats []merge.Format
	for _, op := range ops {
		if !slices.Contains(formats, op.format) {
			formats = append(formats, op.format)
		}
	}
	for _, f := range formats {
		var part []merge.Op
		var at []int
		for i, op := range ops {
			if op.format == f {
				part, at = append(part, op.Op), append(at, i)
			}
		}
		res, err := merge.Edit(f, doc, part, made)
		if err != nil {
			return nil, nil, err
		}
		doc = res.Doc
		for j, i := range at {
			around[i] = res.Made[j]
		}
	}
	return doc, around, nil
}
