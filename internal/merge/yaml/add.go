package yaml

import (
	"strings"

	"aisync.dev/aisync/internal/merge/brackets"
	"aisync.dev/aisync/internal/merge/leaf"
)

// syntax is that of the flow style.
var syntax = brackets.Syntax{Line: "#"}

// addEntry puts name after the last entry of n, which lies at place.
func (y edit) addEntry(n *node, place, name string, v leaf.Value) ([]byte, error) {
	if n.flow {
		key, err := keyText(name)
		if err != nil {
			return nil, err
		}
		text, err := inlineText(v)
		if err != nil {
			return nil, err
		}
		return y.addFlow(n, place, key+": "+text)
	}
	text, err := y.style.entry(name, v, n.column)
	return y.after(n.entries[len(n.entries)-1].End, n, text), err
}

func (y edit) addItem(n *node, place string, v leaf.Value) ([]byte, error) {
	if n.flow {
		text, err := inlineText(v)
		if err != nil {
			return nil, err
		}
		return y.addFlow(n, place, text)
	}
	text, err := y.style.item(v, n.column)
	return y.after(n.items[len(n.items)-1].End, n, text), err
}

// after puts text in a new line after that of off.
func (y edit) after(off int, n *node, text string) []byte {
	end := y.lineEnd(off)
	return leaf.Apply(y.src, leaf.Insert(end, y.style.nl+strings.Repeat(" ", n.column)+text))
}

// addFlow puts text after the last item between the brackets of n.
func (y edit) addFlow(n *node, place, text string) ([]byte, error) {
	if c := y.src[n.Start]; c != '{' && c != '[' {
		return nil, leaf.ErrorAt(y.src, n.Start, "", "what begins here is a mapping without braces")
	}
	l := y.list(n)
	splices, tail := l.Add(l.Separator(""), text, "")
	if tail != "" && !y.notes.Made(place) {
		y.notes.Add(leaf.Note{Word: leaf.InnerNote, Text: tail, At: place})
	}
	return leaf.Apply(y.src, splices...), nil
}

// list returns where the items of n are written. Only the flow style has
// brackets around them.
func (d *doc) list(n *node) brackets.List {
	l := brackets.List{Doc: d.src, Syntax: syntax, Open: n.Start + 1, Close: n.End - 1}
	for _, e := range n.entries {
		l.Items = append(l.Items, e.Span)
	}
	for _, it := range n.items {
		l.Items = append(l.Items, it.Span)
	}
	return l
}
