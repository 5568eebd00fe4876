package merge

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"aisync.dev/aisync/internal/merge/yamltree"
)

// yamlEdit is one op on a YAML document.
type yamlEdit struct {
	*yamltree.Doc
	e     *edit
	style yamltree.Style
}

// yamlOp applies one op to e.doc and returns the new document. What it did is
// read again as a whole: a document in which anything but the leaf has become
// different is refused.
func yamlOp(e *edit, k key, op Op) ([]byte, error) {
	d := e.yaml
	if d == nil || !bytes.Equal(d.Src, e.doc) {
		var err error
		if d, err = parseYAML(e.doc); err != nil {
			return nil, err
		}
		e.yaml = d
	}
	y := yamlEdit{d, e, d.Style()}
	var err error
	var out []byte
	if op.Value == nil {
		out, err = y.remove(k)
	} else {
		out, err = y.set(k, k.want(op.Value), op.Raw)
	}
	if err != nil || bytes.Equal(out, e.doc) {
		return out, err
	}
	after, err := parseYAML(out)
	if err != nil || !reflect.DeepEqual(yamlWithout(d, k), yamlWithout(after, k)) {
		at := 0
		if way, _ := yamlWay(d, k.path); len(way) > 0 {
			at = way[len(way)-1].Start
		}
		return nil, errorAt(d.Src, at, k.String(), "cannot be written here without touching what is beside it")
	}
	e.yaml = after
	return out, nil
}

func (y yamlEdit) set(k key, v Value, raw string) ([]byte, error) {
	way, err := yamlWay(y.Doc, k.path)
	if err != nil {
		return nil, err
	}
	depth := len(way)
	if depth == len(k.path) {
		last := way[depth-1]
		if k.kind == memberKey {
			if i, err := yamlItem(y.Doc, last.Value, k); err != nil || i >= 0 {
				return y.Src, err
			}
			if len(last.Value.Items) > 0 {
				return y.addItem(last.Value, Pointer(k.path...), v)
			}
			return y.fill(y.holder(way, depth-1), last, Pointer(k.path...), wrapArray(v))
		}
		is, err := yamlValue(y.Doc, last.Value, Pointer(k.path...))
		if err != nil || Equal(is, v) {
			return y.Src, err
		}
		return y.replace(y.holder(way, depth-1), last, v, raw)
	}
	if k.kind == memberKey {
		v = wrapArray(v)
		y.e.notes.add(note{at: Pointer(k.path...)})
	}
	for i := len(k.path) - 1; i > depth; i-- {
		v = wrapObject(k.path[i], v)
		y.e.notes.add(note{at: Pointer(k.path[:i]...)})
	}
	name := k.path[depth]
	switch {
	case y.Root == nil:
		return y.begin(name, v)
	case depth == 0 && len(y.Root.Entries) == 0:
		return y.fillRoot(name, v)
	case depth > 0 && len(way[depth-1].Value.Entries) == 0:
		return y.fill(y.holder(way, depth-1), way[depth-1], Pointer(k.path[:depth]...), wrapObject(name, v))
	}
	return y.addEntry(y.holder(way, depth), Pointer(k.path[:depth]...), name, v)
}

// holder is the mapping in which entry i of way stands.
func (y yamlEdit) holder(way []*yamltree.Entry, i int) *yamltree.Node {
	if i == 0 {
		return y.Root
	}
	return way[i-1].Value
}

// begin writes the first entry of a document that says nothing yet.
func (y yamlEdit) begin(name string, v Value) ([]byte, error) {
	text, err := y.style.Entry(name, v, 0)
	if err != nil {
		return nil, err
	}
	head := bytes.TrimRight(y.Src, " \t\r\n")
	if last := head[bytes.LastIndexByte(head, '\n')+1:]; bytes.HasPrefix(last, []byte("...")) {
		return nil, errorAt(y.Src, len(head)-len(last), "", "the document ends here; nothing can follow")
	}
	y.e.notes.add(note{word: documentNote, text: string(y.Src[len(head):])})
	out := string(head)
	if len(head) > 0 {
		out += y.style.NL
	}
	return []byte(out + text + y.style.NL), nil
}

// fillRoot writes the first entry where {} or null is the whole document.
func (y yamlEdit) fillRoot(name string, v Value) ([]byte, error) {
	at, end := y.Root.Start, y.LineEnd(y.Root.End) // with the blanks after it
	if at > y.LineStart(at) || y.Commented(at, end) {
		if !y.Root.Flow {
			return nil, errorAt(y.Src, at, "the document", "is "+y.Root.What()+", want a mapping")
		}
		return y.addEntry(y.Root, "", name, v)
	}
	text, err := y.style.Entry(name, v, 0)
	y.e.notes.add(note{emptyNote, " " + string(y.Src[at:end]), ""})
	return applySplices(y.Src, []splice{{span{at, end}, text}}), err
}

// fill gives the entry at place, which is empty, its first content.
func (y yamlEdit) fill(in *yamltree.Node, at *yamltree.Entry, place string, v Value) ([]byte, error) {
	n := at.Value
	if n.Flow && y.Commented(n.Start, n.End) {
		ps, ok := pairs(v)
		if !ok {
			var items []Value
			items, _ = elements(v)
			return y.addItem(n, place, items[0])
		}
		return y.addEntry(n, place, ps[0].name, ps[0].value)
	}
	if at.Colon < 0 {
		return nil, errorAt(y.Src, at.Start, place, "has no colon after it")
	}
	was := span{at.Colon + 1, at.End}
	if !y.e.notes.made(place) {
		y.e.notes.add(note{emptyNote, string(y.Src[was.start:was.end]), place})
	}
	if in.Flow {
		text, err := yamltree.Inline(v)
		return applySplices(y.Src, []splice{{was, " " + text}}), err
	}
	return y.below(in, at, was, v)
}

// below writes v in the lines after that of at, whose value goes.
func (y yamlEdit) below(in *yamltree.Node, at *yamltree.Entry, was span, v Value) ([]byte, error) {
	text, err := y.style.After(v, in.Column())
	if err != nil {
		return nil, err
	}
	end := y.LineEnd(was.end)
	return applySplices(y.Src, []splice{{was, ""}, {span{end, end}, text}}), nil
}

// replace changes the value of at, which stands in mapping in, to v.
func (y yamlEdit) replace(in *yamltree.Node, at *yamltree.Entry, v Value, raw string) ([]byte, error) {
	n := at.Value
	if at.Colon < 0 {
		return nil, errorAt(y.Src, at.Start, at.Key, "has no colon after it")
	}
	inBlock := n.Kind != yamltree.Scalar && !n.Flow
	if !in.Flow && (!n.Flow || n.Empty()) && !yamlInline(v) && !saysYAML(raw, v) {
		if !inBlock && !n.Block && bytes.IndexByte(y.Src[at.Colon:n.End], '\n') < 0 {
			return y.below(in, at, span{at.Colon + 1, at.End}, v)
		}
		text, err := y.style.After(v, in.Column())
		from := at.Colon + 1
		if y.Commented(from, n.Start) {
			from = y.LineEnd(from)
		}
		return applySplices(y.Src, []splice{{span{from, n.End}, text}}), err
	}
	text, err := yamltree.Inline(v)
	if saysYAML(raw, v) {
		text = raw
	}
	switch {
	case err != nil:
		return nil, err
	case n.Blank():
		return applySplices(y.Src, []splice{{span{at.Colon + 1, at.Colon + 1}, " " + text}}), nil
	case inBlock && y.Commented(at.Colon, n.Start):
		end := y.LineEnd(at.Colon)
		return applySplices(y.Src, []splice{{span{at.Colon + 1, at.Colon + 1}, " " + text}, {span{end, n.End}, ""}}), nil
	case inBlock:
		return applySplices(y.Src, []splice{{span{at.Colon + 1, n.End}, " " + text}}), nil
	}
	return applySplices(y.Src, []splice{{span{n.Start, n.End}, text}}), nil
}

// yamlInline reports whether v is written in one line anyhow.
func yamlInline(v Value) bool {
	if ps, ok := pairs(v); ok {
		return len(ps) == 0
	}
	items, ok := elements(v)
	return !ok || len(items) == 0
}

// saysYAML reports whether raw is one value in one line, without anything
// around it, that equals v.
func saysYAML(raw string, v Value) bool {
	if raw == "" || strings.Contains(raw, "\n") {
		return false
	}
	d, err := parseYAML([]byte("x: " + raw))
	if err != nil || d.Root == nil || len(d.Root.Entries) != 1 {
		return false
	}
	n := d.Root.Entries[0].Value
	got, err := yamlValue(d, n, "")
	return err == nil && n.Start == 3 && n.End == len(d.Src) && Equal(got, v)
}

// addEntry puts name after the last entry of n, which lies at place.
func (y yamlEdit) addEntry(n *yamltree.Node, place, name string, v Value) ([]byte, error) {
	if n.Flow {
		key, err := yamltree.Key(name)
		if err != nil {
			return nil, err
		}
		text, err := yamltree.Inline(v)
		if err != nil {
			return nil, err
		}
		return y.addFlow(n, place, key+": "+text)
	}
	text, err := y.style.Entry(name, v, n.Column())
	return y.after(n.Entries[len(n.Entries)-1].End, n, text), err
}

func (y yamlEdit) addItem(n *yamltree.Node, place string, v Value) ([]byte, error) {
	if n.Flow {
		text, err := yamltree.Inline(v)
		if err != nil {
			return nil, err
		}
		return y.addFlow(n, place, text)
	}
	text, err := y.style.Item(v, n.Column())
	return y.after(n.Items[len(n.Items)-1].End, n, text), err
}

// after puts text in a line of its own, after that of off.
func (y yamlEdit) after(off int, n *yamltree.Node, text string) []byte {
	end := y.LineEnd(off)
	return applySplices(y.Src, []splice{{span{end, end}, y.style.NL + strings.Repeat(" ", n.Column()) + text}})
}

// addFlow puts text after the last item between the brackets of n.
func (y yamlEdit) addFlow(n *yamltree.Node, place, text string) ([]byte, error) {
	if c := y.Src[n.Start]; c != '{' && c != '[' {
		return nil, errorAt(y.Src, n.Start, "", "what begins here is a mapping without braces")
	}
	l, sep := flowList(n), ""
	if k := len(l.items); k > 0 {
		sep = " "
		if last := l.items[k-1]; bytes.Contains(y.Src[l.lead(y.Src, tomlSyntax, k-1):last.start], []byte("\n")) {
			sep = y.style.NL + lineIndent(y.Src, last.start)
		}
	}
	splices, tail := l.add(y.Src, tomlSyntax, sep, text, "", y.style.NL)
	if tail != "" && !y.e.notes.made(place) {
		y.e.notes.add(note{innerNote, tail, place})
	}
	return applySplices(y.Src, splices), nil
}

func flowList(n *yamltree.Node) list {
	l := list{open: n.Start + 1, close: n.End - 1}
	for _, e := range n.Entries {
		l.items = append(l.items, span{e.Start, e.End})
	}
	for _, it := range n.Items {
		l.items = append(l.items, span{it.Start, it.End})
	}
	return l
}

// remove takes the leaf away, all of them where a set holds it more than once,
// and the containers that were made for it and are then empty.
func (y yamlEdit) remove(k key) ([]byte, error) {
	for {
		n, _, err := yamlLeaf(y.Doc, k)
		if err != nil || n == nil {
			return y.Src, err
		}
		src, err := y.removeOne(k)
		if err != nil {
			return nil, err
		}
		if y.Doc, err = yamltree.Parse(src); err != nil {
			return nil, fmt.Errorf("remove yaml leaf %s: %w", k, err)
		}
	}
}

func (y yamlEdit) removeOne(k key) ([]byte, error) {
	way, err := yamlWay(y.Doc, k.path)
	if err != nil {
		return nil, err
	}
	depth := len(way)
	if k.kind == memberKey {
		at := way[depth-1]
		if len(at.Value.Items) > 1 || !y.goes(at, Pointer(k.path...)) {
			i, err := yamlItem(y.Doc, at.Value, k)
			if err != nil {
				return nil, err
			}
			return y.cut(y.holder(way, depth-1), at, Pointer(k.path...), at.Value, i), nil
		}
	}
	for depth > 1 && len(way[depth-2].Value.Entries) == 1 && y.goes(way[depth-2], Pointer(k.path[:depth-1]...)) {
		depth--
	}
	in, place := y.holder(way, depth-1), Pointer(k.path[:depth-1]...)
	i := 0
	for in.Entries[i] != way[depth-1] {
		i++
	}
	if depth == 1 {
		return y.cut(nil, nil, place, in, i), nil
	}
	return y.cut(y.holder(way, depth-2), way[depth-2], place, in, i), nil
}

// goes reports whether a container goes with its last item: it was made here,
// and nobody wrote a comment into it.
func (y yamlEdit) goes(e *yamltree.Entry, place string) bool {
	return y.e.notes.made(place) && !y.Commented(e.KeyEnd, e.End)
}

// cut removes item i of n, which is the value of entry at in mapping holder;
// both are nil at the root.
func (y yamlEdit) cut(holder *yamltree.Node, at *yamltree.Entry, place string, n *yamltree.Node, i int) []byte {
	items := flowList(n).items
	if len(items) > 1 {
		if n.Flow {
			return applySplices(y.Src, flowList(n).remove(y.Src, tomlSyntax, i, y.style.NL))
		}
		return applySplices(y.Src, []splice{y.lines(items, i)})
	}
	was, known := y.e.notes.text(emptyNote, place)
	switch {
	case at == nil && y.wholeDocument(n):
		tail, _ := y.e.notes.text(documentNote, "")
		return append(bytes.TrimRight(y.Src[:n.Start:n.Start], " \t\r\n"), tail...)
	case n.Flow && (!known || holder == nil):
		if known && !y.Commented(n.Start, n.End) {
			return applySplices(y.Src, []splice{{span{n.Start, n.End}, strings.TrimLeft(was, " ")}})
		}
		return y.emptyFlow(n, place)
	case n.Flow:
		return applySplices(y.Src, []splice{{span{at.Colon + 1, n.End}, was}})
	}
	if !known {
		was = " {}"
		if n.Kind == yamltree.Seq {
			was = " []"
		}
	}
	if at == nil {
		return applySplices(y.Src, []splice{{span{n.Start, n.End}, strings.TrimLeft(was, " ")}})
	}
	gone := y.lines(items, 0)
	gone.start = max(gone.start, at.Colon+1)
	return applySplices(y.Src, []splice{{span{at.Colon + 1, at.Colon + 1}, was}, gone})
}

// emptyFlow takes the only item out of the brackets of n.
func (y yamlEdit) emptyFlow(n *yamltree.Node, place string) []byte {
	l := flowList(n)
	tail, ok := y.e.notes.text(innerNote, place)
	if after, _ := tomlSyntax.lastComment(y.Src[l.items[0].end:l.close]); !ok || after > 0 {
		return applySplices(y.Src, l.remove(y.Src, tomlSyntax, 0, y.style.NL))
	}
	head, _ := tomlSyntax.lastComment(y.Src[l.open:l.items[0].start])
	return applySplices(y.Src, []splice{{span{l.open + head, l.close}, tail}})
}

// wholeDocument reports whether n, the root, stands in a document that said
// nothing before, and is followed by nothing.
func (y yamlEdit) wholeDocument(n *yamltree.Node) bool {
	_, made := y.e.notes.text(documentNote, "")
	return made && len(bytes.TrimSpace(y.Src[n.End:])) == 0
}

// lines is what goes with item i of a block collection: its lines, but for a
// comment after it.
func (y yamlEdit) lines(items []span, i int) splice {
	it := items[i]
	end := y.LineEnd(it.end)
	start := y.LineStart(it.start)
	first := len(bytes.TrimSpace(y.Src[start:it.start])) > 0 // something introduces it in its line
	for _, c := range y.Comments {
		if c.Start >= it.end && c.Start < end {
			return splice{span{it.start, c.Start}, ""}
		}
	}
	switch {
	case first && i+1 < len(items) && !y.Commented(it.end, items[i+1].start):
		return splice{span{it.start, items[i+1].start}, ""}
	case first:
		return splice{it, ""}
	case start == 0:
		if end < len(y.Src) {
			end += len(newlineAt(y.Src, end))
		}
		return splice{span{0, end}, ""}
	}
	start--
	if start > 0 && y.Src[start-1] == '\r' {
		start--
	}
	return splice{span{start, end}, ""}
}

// newlineAt is the line end that stands at off.
func newlineAt(src []byte, off int) string {
	if bytes.HasPrefix(src[off:], []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
