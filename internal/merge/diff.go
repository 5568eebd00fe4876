package merge

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"aisync.dev/aisync/internal/merge/leaf"
)

// IsBinary reports whether b is binary by git's rule: a zero byte in the first
// 8000.
func IsBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 }

// Unified returns a unified diff with three lines of context, "" if old and new
// are equal, and one line that says so if either is binary. A name that
// contains a line end is quoted, as in git.
func Unified(oldName, newName string, old, new []byte) string {
	oldName, newName = onOneLine(oldName), onOneLine(newName)
	switch {
	case bytes.Equal(old, new):
		return ""
	case IsBinary(old) || IsBinary(new):
		return fmt.Sprintf("Binary files %s and %s differ\n", oldName, newName)
	}
	return udiff.Unified(oldName, newName, string(old), string(new))
}

func onOneLine(name string) string {
	if strings.ContainsAny(name, "\r\n") {
		return strconv.Quote(name)
	}
	return name
}

// DiffLines returns the first line of b, from 1, that differs from a; 0 if they
// are equal. If b only lacks lines, it is the line after the gap, at most the
// last line of b.
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

// Merge3 merges the changes of mine and theirs to base, line by line. ok is
// false if both changed the same or touching lines differently, or if any of
// them is binary.
func Merge3(base, mine, theirs []byte) (merged []byte, ok bool) {
	merged, conflicts := merge3(base, mine, theirs)
	if merged == nil || conflicts > 0 {
		return nil, false
	}
	return merged, true
}

// Merge3Marked is Merge3 with conflicts left to a person: all three texts
// between conflict markers, in git's diff3 style. It returns nil if any of them
// is binary.
func Merge3Marked(base, mine, theirs []byte) []byte {
	merged, _ := merge3(base, mine, theirs)
	return merged
}

const (
	markMine   = "<<<<<<< yours\n"
	markBase   = "||||||| before\n"
	markTheirs = "=======\n"
	markEnd    = ">>>>>>> the bundle\n"
)

// HasMarkers reports whether doc has a conflict marker of Merge3Marked, or of
// git.
func HasMarkers(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		for _, mark := range []string{"<<<<<<< ", "||||||| ", ">>>>>>> "} {
			if bytes.HasPrefix(line, []byte(mark)) {
				return true
			}
		}
	}
	return false
}

// merge3 returns nil for binary texts, and counts what it had to mark.
func merge3(base, mine, theirs []byte) (merged []byte, conflicts int) {
	switch {
	case bytes.Equal(mine, theirs), bytes.Equal(base, theirs):
		return append([]byte{}, mine...), 0
	case bytes.Equal(base, mine):
		return append([]byte{}, theirs...), 0
	case IsBinary(base) || IsBinary(mine) || IsBinary(theirs):
		return nil, 0
	}
	x := changes(string(base), string(mine))
	y := changes(string(base), string(theirs))
	var all []leaf.Splice
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].End < y[0].Start:
			all, x = append(all, x[0]), x[1:]
		case len(x) == 0 || y[0].End < x[0].Start:
			all, y = append(all, y[0]), y[1:]
		case x[0] == y[0]:
			all, x, y = append(all, x[0]), x[1:], y[1:]
		default:
			var s leaf.Splice
			s, x, y = marked(string(base), x, y)
			all = append(all, s)
			conflicts++
		}
	}
	return leaf.Apply(base, all...), conflicts
}

// marked takes the conflicting changes off x and y, and shows them side by
// side.
func marked(base string, x, y []leaf.Splice) (leaf.Splice, []leaf.Splice, []leaf.Splice) {
	from, to := min(x[0].Start, y[0].Start), min(x[0].Start, y[0].Start)
	var mine, theirs []leaf.Splice
	for {
		switch {
		case len(x) > 0 && (x[0].Start <= to || len(mine)+len(theirs) == 0):
			to, mine, x = max(to, x[0].End), append(mine, x[0]), x[1:]
		case len(y) > 0 && y[0].Start <= to:
			to, theirs, y = max(to, y[0].End), append(theirs, y[0]), y[1:]
		default:
			var b strings.Builder
			for _, part := range []struct{ mark, text string }{
				{markMine, part(base, from, to, mine)}, {markBase, base[from:to]}, {markTheirs, part(base, from, to, theirs)},
			} {
				b.WriteString(part.mark)
				b.WriteString(part.text)
				if part.text != "" && !strings.HasSuffix(part.text, "\n") {
					b.WriteByte('\n')
				}
			}
			b.WriteString(markEnd)
			return leaf.Put(from, to, b.String()), x, y
		}
	}
}

// part is base[from:to] with edits that lie in it.
func part(base string, from, to int, edits []leaf.Splice) string {
	var b strings.Builder
	at := from
	for _, e := range edits {
		b.WriteString(base[at:e.Start])
		b.WriteString(e.Text)
		at = e.End
	}
	b.WriteString(base[at:to])
	return b.String()
}

// changes returns what turns a into b, as whole lines. Edits that touch are
// one change.
func changes(a, b string) []leaf.Splice {
	var out []leaf.Splice
	for _, e := range udiff.Lines(a, b) {
		s := leaf.Put(e.Start, e.End, e.New)
		if n := len(out); n > 0 && out[n-1].End == s.Start {
			out[n-1].End = s.End
			out[n-1].Text += s.Text
			continue
		}
		out = append(out, s)
	}
	return out
}
