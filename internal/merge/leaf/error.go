package leaf

import (
	"bytes"
	"fmt"
	"strings"
)

// Error is a fault in a document, with its place. It knows no file name: with
// "path:" before its text, the whole reads path:line:column: ….
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

// FixHint is the hint of an Error about what a person wrote.
const FixHint = "correct it there and run again; nothing was changed"

// ErrorAt returns an Error at an offset in doc, which has no byte order mark.
func ErrorAt(doc []byte, off int, pointer, reason string) *Error {
	line, col := Position(doc, off)
	return &Error{Line: line, Col: col, Pointer: pointer, Reason: reason, Hint: FixHint}
}

// ErrTooDeep returns an Error about a document that nests n deep.
func ErrTooDeep(n int) *Error {
	return &Error{Reason: fmt.Sprintf("the document nests %d deep, more than %d", n, MaxDepth), Hint: FixHint}
}

// maxSize bounds a document: nothing that a person configures comes near it,
// and positions in TOML are 32 bits wide.
const maxSize = 64 << 20

// CheckDocument refuses what no format can hold.
func CheckDocument(doc []byte) error {
	if len(doc) > maxSize {
		return &Error{Reason: fmt.Sprintf("the document has %d bytes, more than the %d that are edited in place", len(doc), maxSize), Hint: "make it smaller"}
	}
	if bytes.HasPrefix(doc, []byte("\xff\xfe")) || bytes.HasPrefix(doc, []byte("\xfe\xff")) {
		return &Error{Line: 1, Col: 1, Reason: "the document is UTF-16", Hint: "save it as UTF-8"}
	}
	if i := bytes.IndexByte(doc, 0); i >= 0 {
		line, col := Position(doc, i)
		return &Error{Line: line, Col: col, Reason: "the document contains a zero byte, so it is not text", Hint: "move it away or name another target"}
	}
	return nil
}
