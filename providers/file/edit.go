package file

import (
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// formatOf returns the format of the leaf key in t: the declared one, with the
// markers of the wanted or recorded block; otherwise the one that the file's
// name suggests.
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

// styleOf is the marker style that a block names; "" if it names none.
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

// edit is merge.Edit for leaves that may be marked in several ways. It returns
// the document and, for every op, the containers that were created.
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
