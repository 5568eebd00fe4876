package toml

import (
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"

	"aisync.dev/aisync/internal/merge/brackets"
	"aisync.dev/aisync/internal/merge/leaf"
)

// spot is where an inline table, or a key with its value, is written.
type spot struct {
	stmt  int
	parts []int // the way through inline tables, outermost first
	rest  []string
}

// inline finds the key statement that writes path or holds it in inline
// tables; rest is what of path is not written there.
func (d *doc) inline(path []string) (spot, bool) {
	for i, s := range d.stmts {
		if s.header || s.within || !hasPrefix(path, s.path) {
			continue
		}
		sp := spot{stmt: i, rest: path[len(s.path):]}
		v := s.value
		for len(sp.rest) > 0 {
			at := slices.IndexFunc(v.parts, func(p part) bool { return hasPrefix(sp.rest, p.path) })
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
func (d *doc) value(sp spot) value {
	v := d.stmts[sp.stmt].value
	for _, i := range sp.parts {
		v = v.parts[i].value
	}
	return v
}

// table returns what stands between the braces of an inline table.
func (d *doc) table(v value) brackets.List {
	l := brackets.List{Doc: d.src, Syntax: syntax, Open: v.Start + 1, Close: v.End - 1}
	for _, p := range v.parts {
		l.Items = append(l.Items, p.Span)
	}
	return l
}

// setInline writes rest of path into the inline table at sp.
func (d *doc) setInline(notes *leaf.Notes, sp spot, path []string, v leaf.Value) ([]byte, error) {
	at := d.value(sp)
	whole := len(path) - len(sp.rest)
	if at.kind != unstable.InlineTable {
		return nil, d.refuse(path[:whole], "is not a table")
	}
	names := []string{sp.rest[len(sp.rest)-1]}
	for i := len(sp.rest) - 2; i >= 0; i-- {
		if d.partDotted(at, sp.rest[:i+1]) {
			names = append(slices.Clone(sp.rest[:i+1]), names...)
			break
		}
		v = leaf.ObjectOf(names[0], v)
		names = []string{sp.rest[i]}
		notes.Add(leaf.Note{At: leaf.Pointer(path[:whole+i+1]...)})
	}
	text, err := valueText(v)
	if err != nil {
		return nil, err
	}
	l := d.table(at)
	return d.addTo(notes, l, leaf.Pointer(path[:whole]...), l.Separator(" "), keys(names)+" = "+text, " "), nil
}

// partDotted reports whether an inline table makes path with dots.
func (d *doc) partDotted(v value, path []string) bool {
	return slices.ContainsFunc(v.parts, func(p part) bool { return len(p.path) > len(path) && hasPrefix(p.path, path) })
}

// addTo adds an item to a bracketed list and notes what white space was in it.
func (d *doc) addTo(notes *leaf.Notes, l brackets.List, place, sep, text, closing string) []byte {
	splices, tail := l.Add(sep, text, closing)
	if len(l.Items) == 0 && tail != closing {
		notes.AddInner(tail, place)
	}
	return leaf.Apply(d.src, splices...)
}

// arrayAt returns the array that is written at path.
func (d *doc) arrayAt(path []string) (brackets.List, error) {
	sp, ok := d.inline(path)
	if !ok || len(sp.rest) > 0 || d.value(sp).kind != unstable.Array {
		return brackets.List{}, d.refuse(path, inMany)
	}
	return d.array(d.value(sp)), nil
}

func (d *doc) addMember(notes *leaf.Notes, k leaf.Key, v leaf.Value) ([]byte, error) {
	l, err := d.arrayAt(k.Path)
	if err != nil {
		return nil, err
	}
	text, err := valueText(v)
	if err != nil {
		return nil, err
	}
	return d.addTo(notes, l, leaf.Pointer(k.Path...), l.Separator(""), text, ""), nil
}

// array finds the elements of the array that v is.
func (d *doc) array(v value) brackets.List {
	l := brackets.List{Doc: d.src, Syntax: syntax, Open: v.Start + 1, Close: v.End - 1}
	nest, from := 0, -1
	end := l.Open
	finish := func() {
		if from >= 0 {
			l.Items = append(l.Items, leaf.Span{Start: from, End: end})
			from = -1
		}
	}
	for i := l.Open; i < l.Close; {
		if e, _ := syntax.Comment(d.src, i); e > i {
			i = e
			continue
		}
		c, next := d.src[i], i+1
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
			next = syntax.SkipString(d.src, i)
		}
		if from < 0 {
			from = i
		}
		i, end = next, next
	}
	finish()
	return l
}
