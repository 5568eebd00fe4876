package toml

import (
	"bytes"
	"maps"
	"slices"

	"aisync.dev/aisync/internal/merge/leaf"
)

// Set sets one leaf.
func (d *doc) Set(k leaf.Key, op leaf.Op, notes *leaf.Notes) ([]byte, error) {
	v := op.Value
	have, err := d.leaf(k)
	if err != nil || have != nil && leaf.Equal(have, v) {
		return d.src, err
	}
	if k.Kind == leaf.KindMember {
		if _, there, _ := d.get(k.Path); there {
			return d.addMember(notes, k, v)
		}
		notes.Add(leaf.Note{At: leaf.Pointer(k.Path...)})
		return d.set(notes, k.Path, leaf.ArrayOf(v))
	}
	if have == nil {
		return d.set(notes, k.Path, v)
	}
	if sp, ok := d.inline(k.Path); ok && len(sp.rest) == 0 && says(op.Raw, v) {
		return d.overwrite(sp, op.Raw), nil
	}
	return d.replace(notes, k.Path, v)
}

// says reports whether raw is one value, without anything around it, that
// equals v.
func says(raw string, v leaf.Value) bool {
	d, err := parse([]byte("x = " + raw))
	if raw == "" || err != nil || len(d.stmts) != 1 || d.stmts[0].value.Span != (leaf.Span{Start: 4, End: 4 + len(raw)}) {
		return false
	}
	got, err := toJSON(d.tree["x"])
	return err == nil && leaf.Equal(got, v)
}

// overwrite writes text where the value at sp is.
func (d *doc) overwrite(sp spot, text string) []byte {
	at := d.value(sp)
	return leaf.Apply(d.src, leaf.Put(at.Start, at.End, text))
}

// refuse says why path cannot be edited here.
func (d *doc) refuse(path []string, reason string) error {
	return leaf.ErrorAt(d.src, d.offset(path), leaf.Pointer(path...), reason)
}

const inMany = "lies in an array of tables, which has no names to own"

// arrayOfTables reports whether path is, holds or lies in an array of tables.
func (d *doc) arrayOfTables(path []string) bool {
	return slices.ContainsFunc(d.stmts, func(s statement) bool {
		return s.within && (hasPrefix(s.path, path) || s.many && hasPrefix(path, s.path))
	})
}

// replace changes what is there to v.
func (d *doc) replace(notes *leaf.Notes, path []string, v leaf.Value) ([]byte, error) {
	if sp, ok := d.inline(path); ok && len(sp.rest) == 0 {
		text, err := valueText(v)
		if err != nil {
			return nil, err
		}
		return d.overwrite(sp, text), nil
	}
	if d.arrayOfTables(path) {
		return nil, d.refuse(path, inMany)
	}
	ps, ok := leaf.Pairs(v)
	if !ok {
		src, err := d.removePath(notes, path)
		if err != nil {
			return nil, err
		}
		return reparse(src, func(d *doc) ([]byte, error) { return d.set(notes, path, v) })
	}
	// A table made of several statements: change what differs, keep the rest.
	have, _, err := d.get(path)
	if err != nil {
		return nil, err
	}
	table, isTable := have.(map[string]any)
	if !isTable {
		return nil, d.refuse(path, "is "+kindName(have)+", want a table")
	}
	src := d.src
	for _, p := range ps {
		at := append(path[:len(path):len(path)], p.Name)
		x, there := table[p.Name]
		if there {
			if old, err := toJSON(x); err != nil {
				return nil, err
			} else if leaf.Equal(old, p.Value) {
				continue
			}
		}
		src, err = reparse(src, func(d *doc) ([]byte, error) {
			if there {
				return d.replace(notes, at, p.Value)
			}
			return d.set(notes, at, p.Value)
		})
		if err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if slices.ContainsFunc(ps, func(p leaf.Pair) bool { return p.Name == name }) {
			continue
		}
		at := append(path[:len(path):len(path)], name)
		src, err = reparse(src, func(d *doc) ([]byte, error) { return d.removePath(notes, at) })
		if err != nil {
			return nil, err
		}
	}
	return src, nil
}

func reparse(src []byte, f func(*doc) ([]byte, error)) ([]byte, error) {
	d, err := parse(src)
	if err != nil {
		return nil, err
	}
	return f(d)
}

// set writes path, which is not there.
func (d *doc) set(notes *leaf.Notes, path []string, v leaf.Value) ([]byte, error) {
	for i := 1; i <= len(path); i++ {
		if d.arrayOfTables(path[:i]) && !d.headed(path[:i]) {
			return nil, d.refuse(path[:i], inMany)
		}
	}
	if sp, ok := d.inline(path); ok {
		return d.setInline(notes, sp, path, v)
	}
	parent := path[:len(path)-1]
	header, dotted := d.header1(parent), d.dotted(parent)
	ps, isTable := leaf.Pairs(v)
	if isTable && dotted < 0 {
		text, err := tableText(path, ps, leaf.Newline(d.src))
		if err != nil {
			return nil, err
		}
		return d.appendText(notes, text), nil
	}
	text, err := valueText(v)
	if err != nil {
		return nil, err
	}
	switch {
	case dotted >= 0: // beside a.b = … goes a.c = …
		return d.afterKey(dotted, keys(path[d.stmts[dotted].base:])+" = "+text), nil
	case len(parent) == 0:
		return d.setRoot(notes, bareKey(path[0])+" = "+text), nil
	case header >= 0:
		return d.afterKey(d.lastKey(header), bareKey(path[len(path)-1])+" = "+text), nil
	}
	notes.Add(leaf.Note{At: leaf.Pointer(parent...)})
	return d.appendText(notes, "["+keys(parent)+"]"+leaf.Newline(d.src)+bareKey(path[len(path)-1])+" = "+text), nil
}

// headed reports whether path is only a common part of headers, so that its
// own tables can be edited beside arrays of tables.
func (d *doc) headed(path []string) bool {
	return !slices.ContainsFunc(d.stmts, func(s statement) bool { return s.many && hasPrefix(path, s.path) })
}

// header1 returns the index of the header [path], -1 for none.
func (d *doc) header1(path []string) int {
	if len(path) == 0 {
		return -1
	}
	return slices.IndexFunc(d.stmts, func(s statement) bool { return s.header && !s.within && slices.Equal(s.path, path) })
}

// dotted returns the last key statement that makes table path with dots, -1
// for none.
func (d *doc) dotted(path []string) int {
	found := -1
	for i, s := range d.stmts {
		if !s.header && !s.within && len(path) > s.base && len(s.path) > len(path) && hasPrefix(s.path, path) {
			found = i
		}
	}
	return found
}

// lastKey returns the last key statement under a header, or the header.
func (d *doc) lastKey(header int) int {
	last := header
	for i, s := range d.stmts {
		if s.owner == header && !s.header {
			last = i
		}
	}
	return last
}

// contentEnd returns where the last line before off that is not blank ends,
// without its line end; 0 where all are blank.
func (d *doc) contentEnd(off int) int {
	n := len(bytes.TrimRight(d.src[:off], " \t\r\n"))
	if n == 0 {
		return 0
	}
	return min(off, leaf.LineEnd(d.src, n))
}

// afterKey puts a line after statement i.
func (d *doc) afterKey(i int, text string) []byte {
	s := d.stmts[i]
	at := leaf.LineEnd(d.src, s.End)
	return leaf.Apply(d.src, leaf.Insert(at, leaf.Newline(d.src)+leaf.LineIndent(d.src, s.Start)+text))
}

// appendText puts text at the end of the document, a blank line after what is
// there.
func (d *doc) appendText(notes *leaf.Notes, text string) []byte {
	nl := leaf.Newline(d.src)
	end := d.contentEnd(len(d.src))
	if end == 0 {
		notes.Add(leaf.Note{Word: leaf.DocumentNote, Text: string(d.src)})
		return []byte(text + nl)
	}
	return leaf.Apply(d.src, leaf.Insert(end, nl+nl+text))
}

// setRoot puts a key of the root before the first header.
func (d *doc) setRoot(notes *leaf.Notes, text string) []byte {
	nl := leaf.Newline(d.src)
	if last := d.lastKey(-1); last >= 0 {
		return d.afterKey(last, text)
	}
	if len(d.stmts) == 0 {
		return d.appendText(notes, text)
	}
	first := d.src[:d.stmts[0].Start]
	if end := preamble(first); end > 0 {
		return leaf.Apply(d.src, leaf.Insert(end, nl+nl+text))
	}
	gap := nl
	if leaf.LineBreak(first) == "" {
		gap += nl
		notes.Add(leaf.Note{Word: leaf.BlankNote})
	}
	return append([]byte(text+gap), d.src...)
}

// preamble returns where the comment that a document begins with ends, 0 if
// it has none that a blank line sets off.
func preamble(src []byte) int {
	end := 0
	for at := 0; at < len(src); {
		n := bytes.IndexByte(src[at:], '\n') + 1
		if n == 0 {
			n = len(src) - at
		}
		line := bytes.TrimSpace(src[at : at+n])
		if len(line) == 0 {
			return end
		}
		if line[0] != '#' {
			return 0
		}
		end = at + len(bytes.TrimRight(src[at:at+n], "\r\n"))
		at += n
	}
	return 0
}
