package yaml

import (
	"bytes"
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/merge/leaf"
)

// remove takes the leaf away, all of them where a set holds it more than once,
// and the containers that were made for it and are then empty.
func (y edit) remove(k leaf.Key) ([]byte, error) {
	for {
		n, _, err := y.leaf(k)
		if err != nil || n == nil {
			return y.src, err
		}
		src, err := y.removeOne(k)
		if err != nil {
			return nil, err
		}
		if y.doc, err = read(src); err != nil {
			return nil, fmt.Errorf("remove yaml leaf %s: %w", k.Name, err)
		}
	}
}

func (y edit) removeOne(k leaf.Key) ([]byte, error) {
	way, err := y.way(k.Path)
	if err != nil {
		return nil, err
	}
	depth := len(way)
	if k.Kind == leaf.KindMember {
		at := way[depth-1]
		if len(at.value.items) > 1 || !y.goes(at, leaf.Pointer(k.Path...)) {
			i, err := y.item(at.value, k)
			if err != nil {
				return nil, err
			}
			return y.cut(y.holder(way, depth-1), at, leaf.Pointer(k.Path...), at.value, i), nil
		}
	}
	for depth > 1 && len(way[depth-2].value.entries) == 1 && y.goes(way[depth-2], leaf.Pointer(k.Path[:depth-1]...)) {
		depth--
	}
	in, place := y.holder(way, depth-1), leaf.Pointer(k.Path[:depth-1]...)
	i := 0
	for in.entries[i] != way[depth-1] {
		i++
	}
	if depth == 1 {
		return y.cut(nil, nil, place, in, i), nil
	}
	return y.cut(y.holder(way, depth-2), way[depth-2], place, in, i), nil
}

// goes reports whether a container goes with its last item: it was made here,
// and has no comment in it.
func (y edit) goes(e *entry, place string) bool {
	return y.notes.Made(place) && !y.commented(e.keyEnd, e.End)
}

// cut removes item i of n, which is the value of entry at in mapping holder;
// both are nil at the root.
func (y edit) cut(holder *node, at *entry, place string, n *node, i int) []byte {
	l := y.list(n)
	if len(l.Items) > 1 {
		if n.flow {
			return leaf.Apply(y.src, l.Remove(i)...)
		}
		return leaf.Apply(y.src, y.lines(l.Items, i))
	}
	was, known := y.notes.Text(leaf.EmptyNote, place)
	switch {
	case at == nil && y.wholeDocument(n):
		tail, _ := y.notes.Text(leaf.DocumentNote, "")
		return append(bytes.TrimRight(y.src[:n.Start:n.Start], " \t\r\n"), tail...)
	case n.flow && (!known || holder == nil):
		if known && !y.commented(n.Start, n.End) {
			return leaf.Apply(y.src, leaf.Put(n.Start, n.End, strings.TrimLeft(was, " ")))
		}
		return y.emptyFlow(n, place)
	case n.flow:
		return leaf.Apply(y.src, leaf.Put(at.colon+1, n.End, was))
	}
	if !known {
		was = " {}"
		if n.kind == sequence {
			was = " []"
		}
	}
	if at == nil {
		return leaf.Apply(y.src, leaf.Put(n.Start, n.End, strings.TrimLeft(was, " ")))
	}
	gone := y.lines(l.Items, 0)
	gone.Start = max(gone.Start, at.colon+1)
	return leaf.Apply(y.src, leaf.Insert(at.colon+1, was), gone)
}

// emptyFlow takes the only item out of the brackets of n.
func (y edit) emptyFlow(n *node, place string) []byte {
	l := y.list(n)
	tail, ok := y.notes.Text(leaf.InnerNote, place)
	if after, _ := syntax.LastComment(y.src[l.Items[0].End:l.Close]); !ok || after > 0 {
		return leaf.Apply(y.src, l.Remove(0)...)
	}
	head, _ := syntax.LastComment(y.src[l.Open:l.Items[0].Start])
	return leaf.Apply(y.src, leaf.Put(l.Open+head, l.Close, tail))
}

// wholeDocument reports whether n, the root, stands in a document that said
// nothing before, and is followed by nothing.
func (y edit) wholeDocument(n *node) bool {
	_, made := y.notes.Text(leaf.DocumentNote, "")
	return made && len(bytes.TrimSpace(y.src[n.End:])) == 0
}

// lines is what goes with item i of a block collection: its lines, but for a
// comment after it.
func (y edit) lines(items []leaf.Span, i int) leaf.Splice {
	it := items[i]
	end := y.lineEnd(it.End)
	start := y.lineStart(it.Start)
	first := len(bytes.TrimSpace(y.src[start:it.Start])) > 0 // something introduces it in its line
	for _, c := range y.comments {
		if c.Start >= it.End && c.Start < end {
			return leaf.Cut(it.Start, c.Start)
		}
	}
	switch {
	case first && i+1 < len(items) && !y.commented(it.End, items[i+1].Start):
		return leaf.Cut(it.Start, items[i+1].Start)
	case first:
		return leaf.Cut(it.Start, it.End)
	case start == 0:
		if end < len(y.src) {
			end += len(leaf.LineBreak(y.src[end:]))
		}
		return leaf.Cut(0, end)
	}
	start--
	if start > 0 && y.src[start-1] == '\r' {
		start--
	}
	return leaf.Cut(start, end)
}
