package merge

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// tomlOp applies one op to e.doc and returns the new document.
func tomlOp(e *edit, k key, op Op) ([]byte, error) {
	if e.toml == nil || !bytes.Equal(e.toml.src, e.doc) {
		d, err := parseTOML(e.doc)
		if err != nil {
			return nil, err
		}
		e.toml = d
	}
	d := e.toml
	if op.Value == nil {
		return d.remove(e, k)
	}
	v := k.want(op.Value)
	have, err := d.leaf(k)
	if err != nil || have != nil && Equal(have, v) {
		return d.src, err
	}
	if k.kind == memberKey {
		if _, there, _ := d.get(k.path); there {
			return d.addMember(e, k, v)
		}
		e.notes.add(note{at: Pointer(k.path...)})
		return d.set(e, k.path, wrapArray(v))
	}
	if have == nil {
		return d.set(e, k.path, v)
	}
	if sp, ok := d.inline(k.path); ok && len(sp.rest) == 0 && saysTOML(op.Raw, v) {
		return applySplices(d.src, []splice{{d.value(sp).span, op.Raw}}), nil
	}
	return d.replace(e, k.path, v)
}

// saysTOML reports whether raw is one value, without anything around it, that
// equals v.
func saysTOML(raw string, v Value) bool {
	d, err := parseTOML([]byte("x = " + raw))
	if raw == "" || err != nil || len(d.stmts) != 1 || d.stmts[0].value.span != (span{4, 4 + len(raw)}) {
		return false
	}
	got, err := tomlToJSON(d.tree["x"])
	return err == nil && Equal(got, v)
}

// refuse says why path cannot be edited here.
func (d *tomlDoc) refuse(path []string, reason string) error {
	return errorAt(d.src, d.offset(path), Pointer(path...), reason)
}

const inMany = "lies in an array of tables, which has no names to own"

// arrayOfTables reports whether path is, holds or lies in an array of tables.
func (d *tomlDoc) arrayOfTables(path []string) bool {
	return slices.ContainsFunc(d.stmts, func(s statement) bool {
		return s.within && (hasPrefix(s.path, path) || s.many && hasPrefix(path, s.path))
	})
}

// replace changes what is there to v.
func (d *tomlDoc) replace(e *edit, path []string, v Value) ([]byte, error) {
	if sp, ok := d.inline(path); ok && len(sp.rest) == 0 {
		text, err := tomlValueText(v)
		if err != nil {
			return nil, err
		}
		return applySplices(d.src, []splice{{d.value(sp).span, text}}), nil
	}
	if d.arrayOfTables(path) {
		return nil, d.refuse(path, inMany)
	}
	ps, ok := pairs(v)
	if !ok {
		src, err := d.removePath(e, path)
		if err != nil {
			return nil, err
		}
		return reparse(src, func(d *tomlDoc) ([]byte, error) { return d.set(e, path, v) })
	}
	// A table made of several statements: change what differs, keep the rest.
	have, _, err := d.get(path)
	if err != nil {
		return nil, err
	}
	table, isTable := have.(map[string]any)
	if !isTable {
		return nil, d.refuse(path, "is "+tomlKind(have)+", want a table")
	}
	src := d.src
	for _, p := range ps {
		at := append(path[:len(path):len(path)], p.name)
		x, there := table[p.name]
		if there {
			if old, err := tomlToJSON(x); err != nil {
				return nil, err
			} else if Equal(old, p.value) {
				continue
			}
		}
		src, err = reparse(src, func(d *tomlDoc) ([]byte, error) {
			if there {
				return d.replace(e, at, p.value)
			}
			return d.set(e, at, p.value)
		})
		if err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if slices.ContainsFunc(ps, func(p pair) bool { return p.name == name }) {
			continue
		}
		at := append(path[:len(path):len(path)], name)
		src, err = reparse(src, func(d *tomlDoc) ([]byte, error) { return d.removePath(e, at) })
		if err != nil {
			return nil, err
		}
	}
	return src, nil
}

func reparse(src []byte, f func(*tomlDoc) ([]byte, error)) ([]byte, error) {
	d, err := parseTOML(src)
	if err != nil {
		return nil, err
	}
	return f(d)
}

// set writes path, which is not there.
func (d *tomlDoc) set(e *edit, path []string, v Value) ([]byte, error) {
	for i := 1; i <= len(path); i++ {
		if d.arrayOfTables(path[:i]) && !d.headed(path[:i]) {
			return nil, d.refuse(path[:i], inMany)
		}
	}
	if sp, ok := d.inline(path); ok {
		return d.setInline(e, sp, path, v)
	}
	parent := path[:len(path)-1]
	header, dotted := d.header1(parent), d.dotted(parent)
	ps, isTable := pairs(v)
	if isTable && dotted < 0 {
		text, err := tomlTable(path, ps, newline(d.src))
		if err != nil {
			return nil, err
		}
		return d.appendText(e, text, 2), nil
	}
	text, err := tomlValueText(v)
	if err != nil {
		return nil, err
	}
	switch {
	case dotted >= 0: // beside a.b = … goes a.c = …
		s := d.stmts[dotted]
		base := 0
		if s.owner >= 0 {
			base = len(d.stmts[s.owner].path)
		}
		return d.afterKey(dotted, tomlKeys(path[base:])+" = "+text), nil
	case len(parent) == 0:
		return d.setRoot(e, tomlKey(path[0])+" = "+text), nil
	case header >= 0:
		return d.afterKey(d.lastKey(header), tomlKey(path[len(path)-1])+" = "+text), nil
	}
	e.notes.add(note{at: Pointer(parent...)})
	return d.appendText(e, "["+tomlKeys(parent)+"]"+newline(d.src)+tomlKey(path[len(path)-1])+" = "+text, 2), nil
}

// headed reports whether path is only a common part of headers, so that its
// own tables can be edited beside arrays of tables.
func (d *tomlDoc) headed(path []string) bool {
	return !slices.ContainsFunc(d.stmts, func(s statement) bool { return s.many && hasPrefix(path, s.path) })
}

// header1 returns the index of the header [path], -1 for none.
func (d *tomlDoc) header1(path []string) int {
	if len(path) == 0 {
		return -1
	}
	return slices.IndexFunc(d.stmts, func(s statement) bool { return s.header && !s.within && slices.Equal(s.path, path) })
}

// dotted returns the last key statement that makes table path with dots, -1
// for none.
func (d *tomlDoc) dotted(path []string) int {
	found := -1
	for i, s := range d.stmts {
		base := 0
		if s.owner >= 0 {
			base = len(d.stmts[s.owner].path)
		}
		if !s.header && !s.within && len(path) > base && len(s.path) > len(path) && hasPrefix(s.path, path) {
			found = i
		}
	}
	return found
}

// lastKey returns the last key statement under a header, or the header.
func (d *tomlDoc) lastKey(header int) int {
	last := header
	for i, s := range d.stmts {
		if s.owner == header && !s.header {
			last = i
		}
	}
	return last
}

// lineEnd returns where the line of off ends, without its line end.
func (d *tomlDoc) lineEnd(off int) int {
	n := bytes.IndexByte(d.src[off:], '\n')
	if n < 0 {
		return len(d.src)
	}
	if n > 0 && d.src[off+n-1] == '\r' {
		n--
	}
	return off + n
}

// contentEnd returns where the last line before off that is not blank ends,
// without its line end; 0 where all are blank.
func (d *tomlDoc) contentEnd(off int) int {
	n := len(bytes.TrimRight(d.src[:off], " \t\r\n"))
	if n == 0 {
		return 0
	}
	return min(off, d.lineEnd(n))
}

// afterKey puts a line after statement i.
func (d *tomlDoc) afterKey(i int, text string) []byte {
	s := d.stmts[i]
	at := d.lineEnd(s.end)
	return applySplices(d.src, []splice{{span{at, at}, newline(d.src) + lineIndent(d.src, s.start) + text}})
}

// appendText puts text at the end of the document, gap line ends after what
// is there.
func (d *tomlDoc) appendText(e *edit, text string, gap int) []byte {
	nl := newline(d.src)
	end := d.contentEnd(len(d.src))
	if end == 0 {
		e.notes.add(note{word: documentNote, text: string(d.src)})
		return []byte(text + nl)
	}
	return applySplices(d.src, []splice{{span{end, end}, strings.Repeat(nl, gap) + text}})
}

// setRoot puts a key of the root before the first header.
func (d *tomlDoc) setRoot(e *edit, text string) []byte {
	nl := newline(d.src)
	if last := d.lastKey(-1); last >= 0 {
		return d.afterKey(last, text)
	}
	if len(d.stmts) == 0 {
		return d.appendText(e, text, 2)
	}
	first := d.src[:d.stmts[0].start]
	if end := preamble(first); end > 0 {
		return applySplices(d.src, []splice{{span{end, end}, nl + nl + text}})
	}
	gap := nl
	if !startsLine(first) {
		gap += nl
		e.notes.add(note{word: blankNote})
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
