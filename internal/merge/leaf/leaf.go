// Package leaf reads and edits single leaves of documents that belong to other
// programs, and keeps every byte that it does not own. It holds what all formats
// share: keys, canonical values, notes of what an edit made, errors with a line.
// It touches no file system. Call Read and Edit; a format implements Document.
package leaf

import "encoding/json"

// Value is a JSON text: of a JSON, TOML or YAML value itself, the member of a set, a
// whole hook object, the string that a block holds, or true for a line.
type Value = json.RawMessage

// Leaf is one leaf of a document. Line is where it starts there, from 1. Raw
// is its value as it is written there, "" where it is not written in one piece.
type Leaf struct {
	Key   string
	Value Value
	Line  int
	Raw   string
}

// Text returns what a block holds, its lines separated by "\n".
func (l Leaf) Text() string {
	var s string
	_ = json.Unmarshal(l.Value, &s) // not a string: no text
	return s
}

// Op sets one leaf, or removes it where Value is nil.
type Op struct {
	Key    string
	Value  Value
	Header string // of a line: the header line that its group stands under, "" none

	// Group is, of a line, the texts of all lines of its group in their order,
	// itself among them: it comes after the nearest that it follows, else before
	// the nearest that follows it, of those that are there. Without it the line
	// comes last.
	Group []string
	Raw   string // Leaf.Raw of an earlier Read: how to write Value where another value is, if it says the same
}

// Result is an edited document.
type Result struct {
	// Doc is the document, the same bytes where nothing had to change. It is
	// empty where everything was removed from a document that was made here:
	// its file may go.
	Doc     []byte
	Changed bool
	// Made names, for each Op, what had to be made around its leaf. Keep it
	// beside the leaf and hand it back to later edits of the document.
	Made [][]string
}

// Format is one way of writing leaves in a document. Every format passes
// package mergetest.
type Format struct {
	Name  string // as specs and messages name it
	Holds []Kind // the keys that such a document can hold
	// Parse parses a document that a person or another program wrote, without
	// its byte order mark. What is wrong with it is an *Error.
	Parse func(src []byte) (Document, error)
	// CheckNote refuses a recorded note that Remove must not put back. It is
	// nil where Remove puts back white space only, which Edit checks.
	CheckNote func(n Note) error
}

// Document is a parsed document. It does not change: an edit returns the new
// text. An error about the text is an *Error with the line and the leaf at
// fault, and says that nothing was changed.
type Document interface {
	// Leaf returns the first leaf that k names, with its canonical value, its
	// line and its raw text; ok is false where there is none.
	Leaf(k Key) (l Leaf, ok bool, err error)
	// Set returns the text in which k has the value of op, and the same text
	// where it has it already. It notes what it makes around the leaf.
	Set(k Key, op Op, notes *Notes) ([]byte, error)
	// Remove returns the text without any leaf that k names, and without the
	// containers that notes say were made for it and that are now empty.
	Remove(k Key, notes *Notes) ([]byte, error)
	// Reparse parses the text that an edit made of this document.
	Reparse(src []byte) (Document, error)
}
