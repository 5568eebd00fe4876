// Package yamltree says where in a YAML document each of its parts is written,
// byte by byte, and writes values as YAML. It changes no document: package
// merge does, with what is found here. Start reading at Parse.
//
// go.yaml.in/yaml/v3 parses; it tells where nodes begin, and ends.go where they
// end. What both do not agree on is refused rather than guessed.
package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind is what a node is.
type Kind int

const (
	Scalar Kind = iota
	Map
	Seq
	Alias
)

// maxDepth bounds how deep nodes nest.
const maxDepth = 1000

// Node is one value of a document. Offsets are in bytes of its text.
type Node struct {
	Kind Kind
	// Start and End are where the value itself is written: without anchor and
	// tag before it, comments after it, or the line end after a block. An empty
	// value has both right after what introduces it.
	Start, End int
	Props      string   // anchor and tag as they are written, "" none
	Flow       bool     // in brackets, or a part of what is
	Block      bool     // a scalar after | or >
	Entries    []*Entry // of a Map
	Items      []*Item  // of a Seq

	text   string // of a Scalar, decoded; of an Alias, its name
	tag    string
	column int // of a block collection: where its keys or dashes stand, in characters from 0
}

// Entry is a key with its value.
type Entry struct {
	Start, End int // End is that of the value, or of the colon where that is empty
	Key        string
	KeyEnd     int
	Colon      int  // offset of the colon; -1 where there is none
	Odd        bool // the key is no plain or quoted text, or is introduced by "?"
	Value      *Node
}

// Item is an element of a sequence. In block style Start is that of the dash.
type Item struct {
	Start, End int
	Value      *Node
}

// Span is a range of bytes.
type Span struct{ Start, End int }

// Doc is a parsed document.
type Doc struct {
	Src      []byte
	Root     *Node  // nil where the document holds no value
	Comments []Span // in order, without the line end
	lines    []int  // where each line starts
}

// Fault is what is wrong with a document, at an offset in it.
type Fault struct {
	Offset int
	Reason string
}

func (f *Fault) Error() string { return f.Reason }

// Parse parses one document without a byte order mark. What is wrong with it
// is a *Fault: it is no YAML, it is several documents, a name stands twice in
// one mapping, or it is written so that its parts cannot be told apart.
func Parse(src []byte) (*Doc, error) {
	d := &Doc{Src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	if i, what := oddBreak(src); i >= 0 {
		return nil, &Fault{i, "the document holds " + what + ", which only some programs read as a line end"}
	}
	var root, next yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(src))
	err := dec.Decode(&root)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, d.syntax(err)
	}
	if err := dec.Decode(&next); err == nil {
		return nil, &Fault{d.secondDocument(&root), "a second document begins here; programs differ in which one counts"}
	} else if !errors.Is(err, io.EOF) {
		return nil, d.syntax(err)
	}
	if len(root.Content) != 1 || blank(root.Content[0]) { // nothing but comments and markers
		if at := bareTag(src); at >= 0 {
			return nil, &Fault{at, "a tag of nothing would be one of what is added; take it away"}
		}
		d.scanComments()
		return d, nil
	}
	w := walker{d: d}
	if d.Root, err = w.node(root.Content[0], 0, -1, 0); err != nil {
		return nil, err
	}
	d.scanComments()
	return d, d.check(d.Root, 0)
}

// bareTag finds, in a document that holds nothing else, a tag that names no
// type: the parser tells nothing of it.
func bareTag(src []byte) int {
	at := 0
	for line := range bytes.Lines(src) {
		if rest := bytes.TrimLeft(bytes.TrimPrefix(line, []byte("---")), " \t"); bytes.HasPrefix(rest, []byte("!")) {
			return at + len(line) - len(rest)
		}
		at += len(line)
	}
	return -1
}

// oddBreak finds a character that libyaml takes for a line end and YAML 1.2 or
// an editor does not.
func oddBreak(src []byte) (int, string) {
	for i, c := range src {
		switch {
		case c == '\r' && (i+1 == len(src) || src[i+1] != '\n'):
			return i, "a carriage return that no line feed follows"
		case c == 0xC2 && bytes.HasPrefix(src[i:], []byte("\u0085")):
			return i, "the character U+0085"
		case c == 0xE2 && (bytes.HasPrefix(src[i:], []byte("\u2028")) || bytes.HasPrefix(src[i:], []byte("\u2029"))):
			return i, "the character U+2028 or U+2029"
		}
	}
	return -1, ""
}

// secondDocument finds the marker after the first document.
func (d *Doc) secondDocument(root *yaml.Node) int {
	from := 0
	if len(root.Content) == 1 {
		from = root.Content[0].Line // the line after that of its first character
	}
	for i := from; i < len(d.lines); i++ {
		if line := d.Src[d.lines[i]:]; i > 0 && (bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("..."))) {
			return d.lines[i]
		}
	}
	return len(d.Src)
}

// syntax places an error of the parser, which tells the line of what encloses
// the problem, if any: the line after the longest beginning of the document
// that parses is the one that a person has to look at. Of a large document only
// so much is tried again.
func (d *Doc) syntax(err error) *Fault {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if n, _ := fmt.Sscanf(reason, "line %d:", &line); n == 1 {
		_, reason, _ = strings.Cut(reason, ": ")
	}
	for i, tried := len(d.lines)-1, 0; i >= 0 && tried < 1<<20; i-- {
		var n yaml.Node
		if e := yaml.Unmarshal(d.Src[:d.lines[i]], &n); e == nil {
			line = i + 1
			break
		}
		tried += d.lines[i]
	}
	line = min(max(line, 1), len(d.lines))
	at := d.lines[line-1]
	text := d.Src[at:d.LineEnd(at)]
	if indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]; bytes.IndexByte(indent, '\t') >= 0 {
		reason = "the line is indented with a tab; YAML wants spaces"
	}
	return &Fault{at + len(text) - len(bytes.TrimLeft(text, " \t")), "invalid YAML: " + reason}
}

// LineStart returns where the line of off begins.
func (d *Doc) LineStart(off int) int {
	i, found := slices.BinarySearch(d.lines, off)
	if !found {
		i--
	}
	return d.lines[i]
}

// LineEnd returns where the line of off ends, without its line end.
func (d *Doc) LineEnd(off int) int {
	n := bytes.IndexByte(d.Src[off:], '\n')
	switch {
	case n < 0:
		return len(d.Src)
	case n > 0 && d.Src[off+n-1] == '\r':
		return off + n - 1
	}
	return off + n
}

// Commented reports whether a comment begins in [from, to).
func (d *Doc) Commented(from, to int) bool {
	return slices.ContainsFunc(d.Comments, func(c Span) bool { return c.Start >= from && c.Start < to })
}

// Entry returns the entry of name, nil where n has none.
func (n *Node) Entry(name string) *Entry {
	for _, e := range n.Entries {
		if !e.Odd && e.Key == name {
			return e
		}
	}
	return nil
}

// Empty reports whether n is null, however written, or an empty collection.
func (n *Node) Empty() bool {
	return n.Kind == Scalar && n.tag == "!!null" || (n.Kind == Map || n.Kind == Seq) && len(n.Entries)+len(n.Items) == 0
}

// Blank reports whether n is not written at all.
func (n *Node) Blank() bool { return n.Kind == Scalar && n.Start == n.End }

// Column is where the keys or dashes of a block collection stand, from 0.
func (n *Node) Column() int { return n.column }

// What names the kind of n for a message.
func (n *Node) What() string {
	switch n.Kind {
	case Map:
		return "a mapping"
	case Seq:
		return "a sequence"
	case Alias:
		return "an alias"
	}
	switch n.tag {
	case "!!null":
		return "null"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	}
	return "a string"
}
