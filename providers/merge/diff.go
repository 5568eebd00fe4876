package merge

import (
	"bytes"
	"fmt"

	"github.com/aymanbagabas/go-udiff"
)

// IsBinary reports whether b is no text, as git decides it: a zero byte among
// the first 8000.
func IsBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 }

// Unified returns a unified diff with three lines of context, "" where old and
// new are equal, and one line that says so where either is binary.
func Unified(oldName, newName string, old, new []byte) string {
	switch {
	case bytes.Equal(old, new):
		return ""
	case IsBinary(old) || IsBinary(new):
		return fmt.Sprintf("Binary files %s and %s differ\n", oldName, newName)
	}
	return udiff.Unified(oldName, newName, string(old), string(new))
}

// DiffLines returns the first line of b, from 1, that is not as in a; 0 where
// they are equal. Where b only lacks lines, it is the line after the gap, but
// never more than b has.
func DiffLines(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	line := 1 + bytes.Count(b[:n], []byte("\n"))
	last := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		last++
	}
	return max(1, min(line, last))
}

// Merge3 brings what mine and theirs changed of base together, line by line.
// ok is false where both changed the same or touching lines in different ways,
// or where any of them is binary.
func Merge3(base, mine, theirs []byte) (merged []byte, ok bool) {
	switch {
	case bytes.Equal(mine, theirs), bytes.Equal(base, theirs):
		return bytes.Clone(mine), true
	case bytes.Equal(base, mine):
		return bytes.Clone(theirs), true
	case IsBinary(base) || IsBinary(mine) || IsBinary(theirs):
		return nil, false
	}
	x := changes(string(base), string(mine))
	y := changes(string(base), string(theirs))
	var all []splice
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].end < y[0].start:
			all, x = append(all, x[0]), x[1:]
		case len(x) == 0 || y[0].end < x[0].start:
			all, y = append(all, y[0]), y[1:]
		case x[0] == y[0]:
			all, x, y = append(all, x[0]), x[1:], y[1:]
		default:
			return nil, false
		}
	}
	return applySplices(base, all), true
}

// changes returns what turns a into b, as whole lines. Edits that touch are
// one change.
func changes(a, b string) []splice {
	var out []splice
	for _, e := range udiff.Lines(a, b) {
		s := splice{span{e.Start, e.End}, e.New}
		if n := len(out); n > 0 && out[n-1].end == s.start {
			out[n-1].end = s.end
			out[n-1].text += s.text
			continue
		}
		out = append(out, s)
	}
	return out
}
