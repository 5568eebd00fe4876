package merge

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// spot is where an inline table, or a key with its value, is written.
type spot struct {
	stmt  int
	parts []int // the way through inline tables, outermost first
	rest  []string
}

// inline finds the key statement that writes path or holds it in inline
// tables; rest is what of path is not written there.
func (d *tomlDoc) inline(path []string) (spot, bool) {
	for i, s := range d.stmts {
		if s.header || s.within || !hasPrefix(path, s.path) {
			continue
		}
		sp := spot{stmt: i, rest: path[len(s.path):]}
		v := s.value
		for len(sp.rest) > 0 {
			at := slices.IndexFunc(v.parts, func(p tomlPart) bool { return hasPrefix(sp.rest, p.path) })
			if at < 0 {
				break
			}
			sp.parts = append(sp.parts, at)
			sp.rest, v = sp.rest[len(v.parts[at].path):], v.parts[at].value
		}
		return sp, true
	}
	return spot{}, false
}

// value returns what is written at sp.
func (d *tomlDoc) value(sp spot) tomlValue {
	v := d.stmts[sp.stmt].value
	for _, i := range sp.parts {
		v = v.parts[i].value
	}
	return v
}

func inlineList(v tomlValue) list {
	l := list{open: v.start + 1, close: v.end - 1}
	for _, p := range v.parts {
		l.items = append(l.items, p.span)
	}
	return l
}

// setInline writes rest of path into the inline table at sp.
func (d *tomlDoc) setInline(e *edit, sp spot, path []string, v Value) ([]byte, error) {
	at := d.value(sp)
	whole := len(path) - len(sp.rest)
	if at.kind != unstable.InlineTable {
		return nil, d.refuse(path[:whole], "is no table")
	}
	names := []string{sp.rest[len(sp.rest)-1]}
	for i := len(sp.rest) - 2; i >= 0; i-- {
		if d.partDotted(at, sp.rest[:i+1]) {
			names = append(slices.Clone(sp.rest[:i+1]), names...)
			break
		}
		v = wrapObject(names[0], v)
		names = []string{sp.rest[i]}
		e.notes.add(note{at: Pointer(path[:whole+i+1]...)})
	}
	text, err := tomlValueText(v)
	if err != nil {
		return nil, err
	}
	l := inlineList(at)
	sep, closing := " ", " "
	if n := len(l.items); n > 0 {
		gap := d.src[l.lead(d.src, tomlSyntax, n-1):l.items[n-1].start]
		if bytes.Contains(gap, []byte("\n")) {
			sep = newline(d.src) + lineIndent(d.src, l.items[n-1].start)
		}
	}
	return d.addTo(e, l, Pointer(path[:whole]...), sep, tomlKeys(names)+" = "+text, closing), nil
}

// partDotted reports whether an inline table makes path with dots.
func (d *tomlDoc) partDotted(v tomlValue, path []string) bool {
	return slices.ContainsFunc(v.parts, func(p tomlPart) bool { return len(p.path) > len(path) && hasPrefix(p.path, path) })
}

// addTo adds an item to a bracketed list and notes what white space was in it.
func (d *tomlDoc) addTo(e *edit, l list, place, sep, text, closing string) []byte {
	splices, tail := l.add(d.src, tomlSyntax, sep, text, closing, newline(d.src))
	if len(l.items) == 0 && tail != closing && !e.notes.made(place) {
		if _, known := e.notes.text(innerNote, place); !known {
			e.notes.add(note{innerNote, tail, place})
		}
	}
	return applySplices(d.src, splices)
}

// arrayAt returns the array that is written at path.
func (d *tomlDoc) arrayAt(path []string) (list, error) {
	sp, ok := d.inline(path)
	if !ok || len(sp.rest) > 0 || d.value(sp).kind != unstable.Array {
		return list{}, d.refuse(path, inMany)
	}
	return scanArray(d.src, d.value(sp).span), nil
}

func (d *tomlDoc) addMember(e *edit, k key, v Value) ([]byte, error) {
	l, err := d.arrayAt(k.path)
	if err != nil {
		return nil, err
	}
	text, err := tomlValueText(v)
	if err != nil {
		return nil, err
	}
	sep, nl := "", newline(d.src)
	if n := len(l.items); n > 0 {
		sep = " "
		if last := l.items[n-1]; bytes.Contains(d.src[l.lead(d.src, tomlSyntax, n-1):last.start], []byte("\n")) {
			sep = nl + lineIndent(d.src, last.start)
		}
	}
	return d.addTo(e, l, Pointer(k.path...), sep, text, ""), nil
}

// scanArray finds the elements of the array at s, which is valid TOML.
func scanArray(src []byte, s span) list {
	l := list{open: s.start + 1, close: s.end - 1}
	nest, from := 0, -1
	end := l.open
	finish := func() {
		if from >= 0 {
			l.items = append(l.items, span{from, end})
			from = -1
		}
	}
	for i := l.open; i < l.close; {
		if e, _ := tomlSyntax.comment(src, i); e > i {
			i = e
			continue
		}
		c, next := src[i], i+1
		switch c {
		case ' ', '\t', '\r', '\n':
			i++
			continue
		case ',':
			if nest == 0 {
				finish()
				i++
				continue
			}
		case '[', '{':
			nest++
		case ']', '}':
			nest--
		case '"', '\'':
			next = tomlSyntax.skipString(src, i)
		}
		if from < 0 {
			from = i
		}
		i, end = next, next
	}
	finish()
	return l
}

// elementIndex returns which element of the array at path equals member, -1 for none.
func (d *tomlDoc) elementIndex(path []string, member Value) (int, error) {
	x, _, err := d.get(path)
	if err != nil {
		return -1, err
	}
	a, ok := x.([]any)
	if !ok {
		return -1, fmt.Errorf("read toml array %s: it is %s", Pointer(path...), tomlKind(x))
	}
	for i, el := range a {
		v, err := tomlToJSON(el)
		if err != nil {
			return -1, err
		}
		if bytes.Equal(v, member) {
			return i, nil
		}
	}
	return -1, nil
}
