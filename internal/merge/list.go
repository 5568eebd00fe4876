package merge

import (
	"bytes"
	"slices"
	"strings"
)

// syntax is what the formats with brackets differ in.
type syntax int

const (
	jsonSyntax syntax = iota
	tomlSyntax
)

// span is a range of bytes of a document.
type span struct{ start, end int }

// list is what stands between two brackets: members of an object or an inline
// table, elements of an array. Offsets are those of the document.
type list struct {
	open, close int // just after the opening bracket, and of the closing one
	items       []span
}

// splice replaces a range of a document.
type splice struct {
	span
	text string
}

func applySplices(doc []byte, ss []splice) []byte {
	slices.SortStableFunc(ss, func(a, b splice) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, s := range ss {
		if s.start < at { // a later cut that begins within an earlier one
			s.start = min(at, s.end)
		}
		out = append(out, doc[at:s.start]...)
		out = append(out, s.text...)
		at = max(at, s.end)
	}
	return append(out, doc[at:]...)
}

// comment returns the end of the comment at gap[i], without the line end, or i
// where there is none.
func (syn syntax) comment(gap []byte, i int) (end int, line bool) {
	rest := gap[i:]
	switch {
	case syn == tomlSyntax && rest[0] == '#', syn == jsonSyntax && bytes.HasPrefix(rest, []byte("//")):
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			return len(gap), true
		}
		if n > 0 && rest[n-1] == '\r' {
			n--
		}
		return i + n, true
	case syn == jsonSyntax && bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			return i, false // the parser will say so
		}
		return i + 2 + n + 2, false
	}
	return i, false
}

// lastComment returns where the last comment of gap ends, 0 where it has none,
// and whether a line end must follow it.
func (syn syntax) lastComment(gap []byte) (end int, line bool) {
	for i := 0; i < len(gap); {
		if e, l := syn.comment(gap, i); e > i {
			end, line, i = e, l, e
			continue
		}
		i++
	}
	return end, line
}

// comma returns the offset of the comma in gap, -1 where there is none.
func (syn syntax) comma(gap []byte) int {
	for i := 0; i < len(gap); {
		if e, _ := syn.comment(gap, i); e > i {
			i = e
			continue
		}
		if gap[i] == ',' {
			return i
		}
		i++
	}
	return -1
}

// commaAfter returns the offset in doc of the comma after item i, -1 for none.
func (l list) commaAfter(doc []byte, syn syntax, i int) int {
	end := l.close
	if i+1 < len(l.items) {
		end = l.items[i+1].start
	}
	at := l.items[i].end
	if c := syn.comma(doc[at:end]); c >= 0 {
		return at + c
	}
	return -1
}

// lead returns where the gap before item i begins: after the bracket or comma.
func (l list) lead(doc []byte, syn syntax, i int) int {
	if i == 0 {
		return l.open
	}
	return l.commaAfter(doc, syn, i-1) + 1
}

// bare reports whether nothing but items, commas and white space is in l.
func (l list) bare(doc []byte, syn syntax) bool {
	at := l.open
	for _, it := range l.items {
		if e, _ := syn.lastComment(doc[at:it.start]); e > 0 {
			return false
		}
		at = it.end
	}
	e, _ := syn.lastComment(doc[at:l.close])
	return e == 0
}

// add puts text after the last item. sep goes before it; closing goes before
// the bracket of a list that was empty. tail is the white space that closing
// took the place of.
func (l list) add(doc []byte, syn syntax, sep, text, closing, nl string) (ss []splice, tail string) {
	if len(l.items) == 0 {
		gap := doc[l.open:l.close]
		head, line := syn.lastComment(gap)
		if line && !strings.Contains(sep, "\n") {
			sep = nl
		}
		at := l.open + head
		return []splice{{span{at, l.close}, sep + text + closing}}, string(doc[at:l.close])
	}
	last := len(l.items) - 1
	at, suffix := l.items[last].end, ""
	c := l.commaAfter(doc, syn, last)
	if c >= 0 {
		at, suffix = c+1, ","
	} else {
		ss = append(ss, splice{span{at, at}, ","})
	}
	head, line := syn.lastComment(doc[at:l.close])
	if line && !strings.Contains(sep, "\n") {
		sep = nl
	}
	return append(ss, splice{span{at + head, at + head}, sep + text + suffix}), ""
}

// remove takes item i away with the white space and the comma that belong to
// it, and leaves every comment. It is the inverse of add.
func (l list) remove(doc []byte, syn syntax, i int, nl string) []splice {
	it := l.items[i]
	lead := l.lead(doc, syn, i)
	head, line := syn.lastComment(doc[lead:it.start])
	from := lead + head
	comma := l.commaAfter(doc, syn, i)
	last := i == len(l.items)-1

	if i == 0 && !last {
		if next := l.items[1].start; len(bytes.TrimSpace(doc[comma+1:next])) == 0 && comma == it.end {
			return []splice{{span{it.start, next}, ""}} // the next item takes its place
		}
	}
	var ss []splice
	after := it.end
	if comma >= 0 {
		ss = append(ss, splice{span{comma, comma + 1}, ""})
		after = comma + 1
	} else if i > 0 {
		c := l.commaAfter(doc, syn, i-1)
		ss = append(ss, splice{span{c, c + 1}, ""})
	}
	cut := splice{span{from, it.end}, ""}
	rest := doc[after:l.close]
	if inline := bytes.TrimLeft(rest, " \t"); len(inline) > 0 {
		if e, _ := syn.comment(inline, 0); e > 0 && comma <= it.end {
			cut.start = it.start // a comment on its line stays on a line of its own
			ss = append(ss, splice{span{after, after + len(rest) - len(inline)}, ""})
		} else if line && !startsLine(doc[it.end:]) && !startsLine(rest) {
			cut.text = nl
		}
	} else if line && !startsLine(rest) {
		cut.text = nl
	}
	if line && comma > it.end && !startsLine(doc[it.end:comma]) {
		cut.text = nl // a comment before the comma must not join the line comment
	}
	return append(ss, cut)
}

func startsLine(b []byte) bool {
	return bytes.HasPrefix(b, []byte("\n")) || bytes.HasPrefix(b, []byte("\r\n"))
}

// depth returns how deep brackets nest in doc, outside of strings and comments.
func depth(doc []byte, syn syntax) int {
	deepest, now := 0, 0
	for i := 0; i < len(doc); {
		if e, _ := syn.comment(doc, i); e > i {
			i = e
			continue
		}
		switch doc[i] {
		case '[', '{':
			now++
			deepest = max(deepest, now)
		case ']', '}':
			now--
		case '"', '\'':
			i = syn.skipString(doc, i)
			continue
		}
		i++
	}
	return deepest
}

// skipString returns the end of the string that starts at doc[i].
func (syn syntax) skipString(doc []byte, i int) int {
	q := doc[i]
	if q == '\'' && syn == jsonSyntax {
		return i + 1
	}
	if triple := bytes.Repeat([]byte{q}, 3); syn == tomlSyntax && bytes.HasPrefix(doc[i:], triple) {
		for j := i + 3; j < len(doc); j++ {
			if doc[j] == '\\' && q == '"' {
				j++
			} else if bytes.HasPrefix(doc[j:], triple) {
				for j += 3; j < len(doc) && doc[j] == q; j++ { // up to two quotes may stand before the end
				}
				return j
			}
		}
		return len(doc)
	}
	for j := i + 1; j < len(doc); j++ {
		switch {
		case doc[j] == '\\' && q == '"':
			j++
		case doc[j] == q:
			return j + 1
		}
	}
	return len(doc)
}
