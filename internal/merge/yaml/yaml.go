// Package yaml edits leaves of YAML documents. A document is edited only where
// tree.go and ends.go can tell which bytes say what, and each result is read again
// as a whole: an edit that would change anything but its leaf is refused. What
// has an anchor, an alias or a tag is left alone. YAML is its format.
package yaml

import (
	"bytes"
	"errors"

	"aisync.dev/aisync/internal/merge/leaf"
)

// YAML is the format of this package.
var YAML = leaf.Format{
	Name:      "yaml",
	Holds:     []leaf.Kind{leaf.KindValue, leaf.KindMember},
	Parse:     func(src []byte) (leaf.Document, error) { return parse(src) },
	CheckNote: checkNote,
}

func parse(src []byte) (*doc, error) {
	d, err := read(src)
	if err != nil {
		return nil, place(src, "", err)
	}
	return d, nil
}

// Reparse parses the text that an edit made of d.
func (d *doc) Reparse(src []byte) (leaf.Document, error) {
	if d.next != nil && bytes.Equal(d.next.src, src) {
		return d.next, nil
	}
	return parse(src)
}

// place makes an *Error of a *fault.
func place(src []byte, pointer string, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	return leaf.ErrorAt(src, f.offset, pointer, f.reason)
}

// Leaf returns the leaf that k names. Its raw text is that of a value in one line.
func (d *doc) Leaf(k leaf.Key) (leaf.Leaf, bool, error) {
	n, v, err := d.leaf(k)
	if n == nil || err != nil {
		return leaf.Leaf{}, false, err
	}
	line, _ := leaf.Position(d.src, n.Start)
	l := leaf.Leaf{Value: v, Line: line}
	if raw := d.src[n.Start:n.End]; !n.block && (n.flow || n.kind == scalar) && bytes.IndexByte(raw, '\n') < 0 {
		l.Raw = string(raw)
	}
	return l, true, nil
}

// leaf returns what k names with its canonical value; nil where it is not there.
func (d *doc) leaf(k leaf.Key) (*node, leaf.Value, error) {
	way, err := d.way(k.Path)
	if err != nil || len(way) < len(k.Path) {
		return nil, nil, err
	}
	n := way[len(way)-1].value
	if k.Kind == leaf.KindValue {
		v, err := d.value(n, leaf.Pointer(k.Path...))
		return n, v, err
	}
	i, err := d.item(n, k)
	if i < 0 || err != nil {
		return nil, nil, err
	}
	return n.items[i].value, k.Member, nil
}

// way returns the entries from the root to path, as far as they are there.
// It is an error where what is on the way is no mapping, or is shared.
func (d *doc) way(path []string) ([]*entry, error) {
	var way []*entry
	n := d.root
	for i, name := range path {
		if n == nil {
			return way, nil
		}
		if err := d.mapping(n, path[:i]); err != nil {
			return nil, err
		}
		e := n.entry(name)
		if e == nil {
			if m := n.entry("<<"); m != nil {
				return nil, leaf.ErrorAt(d.src, m.Start, leaf.Pointer(path[:i]...), "merges another mapping with <<, so what it holds is written elsewhere")
			}
			return way, nil
		}
		way, n = append(way, e), e.value
		if err := d.shared(n); err != nil {
			return nil, place(d.src, leaf.Pointer(path[:i+1]...), err)
		}
	}
	return way, nil
}

// mapping refuses a node on the way to a leaf that can hold no names. Null
// can: it is how people write that nothing is there.
func (d *doc) mapping(n *node, path []string) error {
	pointer := leaf.Pointer(path...)
	if pointer == "" {
		pointer = "the document"
	}
	if err := d.shared(n); err != nil {
		return place(d.src, pointer, err)
	}
	if n.kind != mapping && (n.kind != scalar || !n.empty()) {
		return leaf.ErrorAt(d.src, n.Start, pointer, "is "+n.what()+", want a mapping")
	}
	return nil
}

func (d *doc) value(n *node, pointer string) (leaf.Value, error) {
	raw, err := d.json(n)
	if err != nil {
		return nil, place(d.src, pointer, err)
	}
	v, err := leaf.Canonical(raw)
	if err != nil {
		return nil, leaf.ErrorAt(d.src, n.Start, pointer, err.Error())
	}
	return v, nil
}

// item returns which element of the sequence n equals the member of k, -1
// for none. Null, however written, is an empty sequence.
func (d *doc) item(n *node, k leaf.Key) (int, error) {
	pointer := leaf.Pointer(k.Path...)
	if n.kind != sequence && !n.empty() || n.kind == mapping {
		return -1, leaf.ErrorAt(d.src, n.Start, pointer, "is "+n.what()+", want a sequence")
	}
	for i, it := range n.items {
		if v, err := d.value(it.value, pointer); err == nil && bytes.Equal(v, k.Member) {
			return i, nil // an element that has no value as JSON belongs to the person
		}
	}
	return -1, nil
}
