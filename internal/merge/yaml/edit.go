package yaml

import (
	"bytes"
	"reflect"
	"strings"

	"aisync.dev/aisync/internal/merge/leaf"
)

// edit is one op on a document.
type edit struct {
	*doc
	notes *leaf.Notes
	style style
}

// Set sets one leaf.
func (d *doc) Set(k leaf.Key, op leaf.Op, notes *leaf.Notes) ([]byte, error) {
	out, err := edit{d, notes, d.style()}.set(k, op.Value, op.Raw)
	return d.verified(k, out, err)
}

// Remove removes one leaf.
func (d *doc) Remove(k leaf.Key, notes *leaf.Notes) ([]byte, error) {
	out, err := edit{d, notes, d.style()}.remove(k)
	return d.verified(k, out, err)
}

// verified reads what an edit of k made of d as a whole, and refuses a document
// in which anything but the leaf has become different.
func (d *doc) verified(k leaf.Key, out []byte, err error) ([]byte, error) {
	if err != nil || bytes.Equal(out, d.src) {
		return out, err
	}
	after, err := parse(out)
	if err != nil || !reflect.DeepEqual(d.without(k), after.without(k)) {
		at := 0
		if way, _ := d.way(k.Path); len(way) > 0 {
			at = way[len(way)-1].Start
		}
		return nil, leaf.ErrorAt(d.src, at, k.Name, "cannot be written here without touching what is beside it")
	}
	d.next = after
	return out, nil
}

func (y edit) set(k leaf.Key, v leaf.Value, raw string) ([]byte, error) {
	way, err := y.way(k.Path)
	if err != nil {
		return nil, err
	}
	depth := len(way)
	if depth == len(k.Path) {
		last := way[depth-1]
		if k.Kind == leaf.KindMember {
			if i, err := y.item(last.value, k); err != nil || i >= 0 {
				return y.src, err
			}
			if len(last.value.items) > 0 {
				return y.addItem(last.value, leaf.Pointer(k.Path...), v)
			}
			return y.fill(y.holder(way, depth-1), last, leaf.Pointer(k.Path...), leaf.ArrayOf(v))
		}
		is, err := y.value(last.value, leaf.Pointer(k.Path...))
		if err != nil || leaf.Equal(is, v) {
			return y.src, err
		}
		return y.replace(y.holder(way, depth-1), last, v, raw)
	}
	if k.Kind == leaf.KindMember {
		v = leaf.ArrayOf(v)
		y.notes.Add(leaf.Note{At: leaf.Pointer(k.Path...)})
	}
	for i := len(k.Path) - 1; i > depth; i-- {
		v = leaf.ObjectOf(k.Path[i], v)
		y.notes.Add(leaf.Note{At: leaf.Pointer(k.Path[:i]...)})
	}
	name := k.Path[depth]
	switch {
	case y.root == nil:
		return y.begin(name, v)
	case depth == 0 && len(y.root.entries) == 0:
		return y.fillRoot(name, v)
	case depth > 0 && len(way[depth-1].value.entries) == 0:
		return y.fill(y.holder(way, depth-1), way[depth-1], leaf.Pointer(k.Path[:depth]...), leaf.ObjectOf(name, v))
	}
	return y.addEntry(y.holder(way, depth), leaf.Pointer(k.Path[:depth]...), name, v)
}

// holder is the mapping in which entry i of way stands.
func (y edit) holder(way []*entry, i int) *node {
	if i == 0 {
		return y.root
	}
	return way[i-1].value
}

// begin writes the first entry of a document that says nothing yet.
func (y edit) begin(name string, v leaf.Value) ([]byte, error) {
	text, err := y.style.entry(name, v, 0)
	if err != nil {
		return nil, err
	}
	head := bytes.TrimRight(y.src, " \t\r\n")
	if last := head[bytes.LastIndexByte(head, '\n')+1:]; bytes.HasPrefix(last, []byte("...")) {
		return nil, leaf.ErrorAt(y.src, len(head)-len(last), "", "the document ends here; nothing can follow")
	}
	y.notes.Add(leaf.Note{Word: leaf.DocumentNote, Text: string(y.src[len(head):])})
	out := string(head)
	if len(head) > 0 {
		out += y.style.nl
	}
	return []byte(out + text + y.style.nl), nil
}

// fillRoot writes the first entry where {} or null is the whole document.
func (y edit) fillRoot(name string, v leaf.Value) ([]byte, error) {
	at, end := y.root.Start, y.lineEnd(y.root.End) // with the blanks after it
	if at > y.lineStart(at) || y.commented(at, end) {
		if !y.root.flow {
			return nil, leaf.ErrorAt(y.src, at, "the document", "is "+y.root.what()+", want a mapping")
		}
		return y.addEntry(y.root, "", name, v)
	}
	text, err := y.style.entry(name, v, 0)
	y.notes.Add(leaf.Note{Word: leaf.EmptyNote, Text: " " + string(y.src[at:end])})
	return leaf.Apply(y.src, leaf.Put(at, end, text)), err
}

// fill gives the entry at place, which is empty, its first content.
func (y edit) fill(in *node, at *entry, place string, v leaf.Value) ([]byte, error) {
	n := at.value
	if n.flow && y.commented(n.Start, n.End) {
		ps, ok := leaf.Pairs(v)
		if !ok {
			var items []leaf.Value
			items, _ = leaf.Elements(v)
			return y.addItem(n, place, items[0])
		}
		return y.addEntry(n, place, ps[0].Name, ps[0].Value)
	}
	if at.colon < 0 {
		return nil, leaf.ErrorAt(y.src, at.Start, place, "has no colon after it")
	}
	was := leaf.Span{Start: at.colon + 1, End: at.End}
	if !y.notes.Made(place) {
		y.notes.Add(leaf.Note{Word: leaf.EmptyNote, Text: string(y.src[was.Start:was.End]), At: place})
	}
	if in.flow {
		text, err := inlineText(v)
		return leaf.Apply(y.src, leaf.Put(was.Start, was.End, " "+text)), err
	}
	return y.below(in, at, was, v)
}

// below writes v in the lines after that of at, whose value goes.
func (y edit) below(in *node, at *entry, was leaf.Span, v leaf.Value) ([]byte, error) {
	text, err := y.style.after(v, in.column)
	if err != nil {
		return nil, err
	}
	end := y.lineEnd(was.End)
	return leaf.Apply(y.src, leaf.Cut(was.Start, was.End), leaf.Insert(end, text)), nil
}

// replace changes the value of at, which stands in mapping in, to v.
func (y edit) replace(in *node, at *entry, v leaf.Value, raw string) ([]byte, error) {
	n := at.value
	if at.colon < 0 {
		return nil, leaf.ErrorAt(y.src, at.Start, at.key, "has no colon after it")
	}
	inBlock := n.kind != scalar && !n.flow
	if !in.flow && (!n.flow || n.empty()) && !oneLine(v) && !says(raw, v) {
		if !inBlock && !n.block && bytes.IndexByte(y.src[at.colon:n.End], '\n') < 0 {
			return y.below(in, at, leaf.Span{Start: at.colon + 1, End: at.End}, v)
		}
		text, err := y.style.after(v, in.column)
		from := at.colon + 1
		if y.commented(from, n.Start) {
			from = y.lineEnd(from)
		}
		return leaf.Apply(y.src, leaf.Put(from, n.End, text)), err
	}
	text, err := inlineText(v)
	if says(raw, v) {
		text = raw
	}
	switch {
	case err != nil:
		return nil, err
	case n.blank():
		return leaf.Apply(y.src, leaf.Insert(at.colon+1, " "+text)), nil
	case inBlock && y.commented(at.colon, n.Start):
		end := y.lineEnd(at.colon)
		return leaf.Apply(y.src, leaf.Insert(at.colon+1, " "+text), leaf.Cut(end, n.End)), nil
	case inBlock:
		return leaf.Apply(y.src, leaf.Put(at.colon+1, n.End, " "+text)), nil
	}
	return leaf.Apply(y.src, leaf.Put(n.Start, n.End, text)), nil
}

// oneLine reports whether v is written in one line anyhow.
func oneLine(v leaf.Value) bool {
	if ps, ok := leaf.Pairs(v); ok {
		return len(ps) == 0
	}
	items, ok := leaf.Elements(v)
	return !ok || len(items) == 0
}

// says reports whether raw is one value in one line, without anything
// around it, that equals v.
func says(raw string, v leaf.Value) bool {
	if raw == "" || strings.Contains(raw, "\n") {
		return false
	}
	d, err := parse([]byte("x: " + raw))
	if err != nil || d.root == nil || len(d.root.entries) != 1 {
		return false
	}
	n := d.root.entries[0].value
	got, err := d.value(n, "")
	return err == nil && n.Start == 3 && n.End == len(d.src) && leaf.Equal(got, v)
}
