package merge

import (
	"bytes"
	"fmt"
	"strings"
)

// Error says what is wrong with a document and where. It knows no file name:
// put "path:" before its text and the whole reads path:line:column: ….
type Error struct {
	Line, Col int    // from 1, Col in bytes; 0 unknown
	Pointer   string // the leaf or container at fault, "" where it is the document
	Reason    string
	Hint      string // what to do next
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", e.Line, e.Col)
	}
	if e.Pointer != "" {
		b.WriteString(e.Pointer + " ")
	}
	b.WriteString(e.Reason)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

const fixHint = "correct it there and run again; nothing was changed"

// errorAt makes an Error of an offset in doc, which has no byte order mark.
func errorAt(doc []byte, off int, pointer, reason string) *Error {
	line, col := position(doc, off)
	return &Error{Line: line, Col: col, Pointer: pointer, Reason: reason, Hint: fixHint}
}

func position(doc []byte, off int) (line, col int) {
	off = min(max(off, 0), len(doc))
	return 1 + bytes.Count(doc[:off], []byte("\n")), off - bytes.LastIndexByte(doc[:off], '\n')
}

// checkDocument refuses what no format here can hold.
func checkDocument(doc []byte) error {
	if len(doc) > maxSize {
		return &Error{Reason: fmt.Sprintf("the document has %d bytes, more than the %d that are edited in place", len(doc), maxSize), Hint: "make it smaller"}
	}
	if bytes.HasPrefix(doc, []byte("\xff\xfe")) || bytes.HasPrefix(doc, []byte("\xfe\xff")) {
		return &Error{Line: 1, Col: 1, Reason: "the document is UTF-16", Hint: "save it as UTF-8"}
	}
	if i := bytes.IndexByte(doc, 0); i >= 0 {
		line, col := position(doc, i)
		return &Error{Line: line, Col: col, Reason: "the document holds a zero byte, so it is no text", Hint: "move it away or name another target"}
	}
	return nil
}

var bom = []byte("\xef\xbb\xbf")

func cutBOM(doc []byte) (mark, rest []byte) {
	if bytes.HasPrefix(doc, bom) {
		return doc[:len(bom):len(bom)], doc[len(bom):]
	}
	return nil, doc
}

// newline returns the line end that doc uses first, "\n" where it has none.
func newline(doc []byte) string {
	if i := bytes.IndexByte(doc, '\n'); i > 0 && doc[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
