// Package brackets adds and removes the items between two brackets of a
// document: members of an object or inline table, elements of an array. It keeps
// commas, white space and comments right, and never reads what an item says.
// JSON, TOML and the flow style of YAML share it and differ by a Syntax, so a
// change here must pass the suites of all three. Start reading at List.
package brackets

import (
	"bytes"
	"strings"

	"aisync.dev/aisync/internal/merge/leaf"
)

// List is what stands between two brackets of Doc. Offsets are those of Doc.
type List struct {
	Doc         []byte
	Syntax      Syntax
	Open, Close int // just after the opening bracket, and of the closing one
	Items       []leaf.Span
}

// commaAfter returns the offset in doc of the comma after item i, -1 for none.
func (l List) commaAfter(i int) int {
	end := l.Close
	if i+1 < len(l.Items) {
		end = l.Items[i+1].Start
	}
	at := l.Items[i].End
	if c := l.Syntax.comma(l.Doc[at:end]); c >= 0 {
		return at + c
	}
	return -1
}

// Gap returns what stands before item i, after the bracket or comma.
func (l List) Gap(i int) []byte {
	from := l.Open
	if i > 0 {
		from = l.commaAfter(i-1) + 1
	}
	return l.Doc[from:l.Items[i].Start]
}

// Separator returns what goes before a new item: a space, or the line break and
// indentation of the last item where that starts a line; empty where l is empty.
func (l List) Separator(empty string) string {
	n := len(l.Items)
	switch {
	case n == 0:
		return empty
	case bytes.Contains(l.Gap(n-1), []byte("\n")):
		return leaf.Newline(l.Doc) + leaf.LineIndent(l.Doc, l.Items[n-1].Start)
	}
	return " "
}

// Bare reports whether nothing but items, commas and white space is in l.
func (l List) Bare() bool {
	at := l.Open
	for _, it := range l.Items {
		if e, _ := l.Syntax.LastComment(l.Doc[at:it.Start]); e > 0 {
			return false
		}
		at = it.End
	}
	e, _ := l.Syntax.LastComment(l.Doc[at:l.Close])
	return e == 0
}

// Add puts text after the last item. sep goes before it; closing goes before
// the bracket of a list that was empty. tail is the white space that closing
// took the place of.
func (l List) Add(sep, text, closing string) (ss []leaf.Splice, tail string) {
	if len(l.Items) == 0 {
		gap := l.Doc[l.Open:l.Close]
		head, line := l.Syntax.LastComment(gap)
		if line && !strings.Contains(sep, "\n") {
			sep = leaf.Newline(l.Doc)
		}
		at := l.Open + head
		return []leaf.Splice{leaf.Put(at, l.Close, sep+text+closing)}, string(l.Doc[at:l.Close])
	}
	last := len(l.Items) - 1
	at, suffix := l.Items[last].End, ""
	c := l.commaAfter(last)
	if c >= 0 {
		at, suffix = c+1, ","
	} else {
		ss = append(ss, leaf.Insert(at, ","))
	}
	head, line := l.Syntax.LastComment(l.Doc[at:l.Close])
	if line && !strings.Contains(sep, "\n") {
		sep = leaf.Newline(l.Doc)
	}
	return append(ss, leaf.Insert(at+head, sep+text+suffix)), ""
}

// Remove takes item i away with the white space and the comma that belong to
// it, and leaves every comment. It is the inverse of Add.
func (l List) Remove(i int) []leaf.Splice {
	it, gap := l.Items[i], l.Gap(i)
	head, line := l.Syntax.LastComment(gap)
	from, nl := it.Start-len(gap)+head, leaf.Newline(l.Doc)
	comma := l.commaAfter(i)
	last := i == len(l.Items)-1

	if i == 0 && !last {
		if next := l.Items[1].Start; len(bytes.TrimSpace(l.Doc[comma+1:next])) == 0 && comma == it.End {
			return []leaf.Splice{leaf.Cut(it.Start, next)} // the next item takes its place
		}
	}
	var ss []leaf.Splice
	after := it.End
	if comma >= 0 {
		ss = append(ss, leaf.Cut(comma, comma+1))
		after = comma + 1
	} else if i > 0 {
		c := l.commaAfter(i - 1)
		ss = append(ss, leaf.Cut(c, c+1))
	}
	cut := leaf.Cut(from, it.End)
	rest := l.Doc[after:l.Close]
	if inline := bytes.TrimLeft(rest, " \t"); len(inline) > 0 {
		if e, _ := l.Syntax.Comment(inline, 0); e > 0 && comma <= it.End {
			cut.Start = it.Start // a comment on its line stays on a separate line
			ss = append(ss, leaf.Cut(after, after+len(rest)-len(inline)))
		} else if line && leaf.LineBreak(l.Doc[it.End:]) == "" && leaf.LineBreak(rest) == "" {
			cut.Text = nl
		}
	} else if line && leaf.LineBreak(rest) == "" {
		cut.Text = nl
	}
	if line && comma > it.End && leaf.LineBreak(l.Doc[it.End:comma]) == "" {
		cut.Text = nl // a comment before the comma must not join the line comment
	}
	return append(ss, cut)
}
