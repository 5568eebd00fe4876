package leaf

import (
	"bytes"
	"sort"
)

// Span is a range of bytes of a document.
type Span struct{ Start, End int }

// Splice replaces a range of a document by a text.
type Splice struct {
	Span
	Text string
}

// Put replaces [start, end) by text.
func Put(start, end int, text string) Splice { return Splice{Span{start, end}, text} }

// Insert puts text at an offset.
func Insert(at int, text string) Splice { return Put(at, at, text) }

// Cut removes [start, end).
func Cut(start, end int) Splice { return Put(start, end, "") }

// Apply returns doc with splices, whose offsets are those of doc. Those that
// start at the same place apply in the order in which they are given.
func Apply(doc []byte, splices ...Splice) []byte {
	sort.SliceStable(splices, func(i, j int) bool { return splices[i].Start < splices[j].Start })
	var out []byte
	at := 0
	for _, s := range splices {
		if s.Start < at { // a later cut that begins within an earlier one
			s.Start = min(at, s.End)
		}
		out = append(out, doc[at:s.Start]...)
		out = append(out, s.Text...)
		at = max(at, s.End)
	}
	return append(out, doc[at:]...)
}

// Position returns the line and the column, in bytes, of an offset, from 1.
func Position(doc []byte, off int) (line, col int) {
	off = min(max(off, 0), len(doc))
	return 1 + bytes.Count(doc[:off], []byte("\n")), off - bytes.LastIndexByte(doc[:off], '\n')
}

// Newline returns the line end that doc uses first, "\n" where it has none.
func Newline(doc []byte) string {
	if i := bytes.IndexByte(doc, '\n'); i > 0 && doc[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// LineBreak returns the line end that b starts with, "" for none.
func LineBreak(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\r\n")):
		return "\r\n"
	case bytes.HasPrefix(b, []byte("\n")):
		return "\n"
	}
	return ""
}

// LineEnd returns where the line of off ends, without its line end.
func LineEnd(doc []byte, off int) int {
	n := bytes.IndexByte(doc[off:], '\n')
	switch {
	case n < 0:
		return len(doc)
	case n > 0 && doc[off+n-1] == '\r':
		return off + n - 1
	}
	return off + n
}

// LineIndent returns the white space that the line of off begins with.
func LineIndent(doc []byte, off int) string {
	line := doc[bytes.LastIndexByte(doc[:off], '\n')+1 : off]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

var bom = []byte("\xef\xbb\xbf")

// CutBOM takes the byte order mark off a document; mark is nil where it has none.
func CutBOM(doc []byte) (mark, rest []byte) {
	if bytes.HasPrefix(doc, bom) {
		return doc[:len(bom):len(bom)], doc[len(bom):]
	}
	return nil, doc
}
