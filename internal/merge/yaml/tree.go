package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"aisync.dev/aisync/internal/merge/leaf"
)

// kind is what a node is.
type kind int

const (
	scalar kind = iota
	mapping
	sequence
	alias
)

// node is one value of a document. Its span is where the value itself is
// written: without anchor and tag before it, comments after it, or the line end
// after a block. An empty value starts and ends right after what introduces it.
type node struct {
	leaf.Span
	kind    kind
	props   string   // anchor and tag as they are written, "" none
	flow    bool     // in brackets, or a part of what is
	block   bool     // a scalar after | or >
	entries []*entry // of a mapping
	items   []*item  // of a sequence

	text   string // of a scalar, decoded; of an alias, its name
	tag    string
	column int // of a block collection: where its keys or dashes stand, in characters from 0
}

// entry is a key with its value. It ends with the value, or with the colon
// where that is empty.
type entry struct {
	leaf.Span
	key    string
	keyEnd int
	colon  int  // offset of the colon; -1 where there is none
	odd    bool // the key is no plain or quoted text, or is introduced by "?"
	value  *node
}

// item is an element of a sequence. In block style it starts with the dash.
type item struct {
	leaf.Span
	value *node
}

// doc is a parsed document, with the place of each of its parts.
type doc struct {
	src      []byte
	root     *node       // nil where the document holds no value
	comments []leaf.Span // in order, without the line end
	lines    []int       // where each line starts
	next     *doc        // what the last edit made of it, which was parsed to check it
}

// fault is what is wrong with a document, at an offset in it.
type fault struct {
	offset int
	reason string
}

func (f *fault) Error() string { return f.reason }

// read parses one document without a byte order mark. go.yaml.in/yaml/v3 tells
// where its nodes begin, ends.go where they end; a disagreement is refused
// rather than guessed. A fault of the document is a *fault: it is not YAML, it
// holds several documents, a name stands twice in one mapping, or its parts
// cannot be told apart.
func read(src []byte) (*doc, error) {
	d := &doc{src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	if i, what := oddBreak(src); i >= 0 {
		return nil, &fault{i, "the document holds " + what + ", which only some programs read as a line end"}
	}
	var root, next yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(src))
	err := dec.Decode(&root)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, d.syntax(err)
	}
	if err := dec.Decode(&next); err == nil {
		return nil, &fault{d.secondDocument(&root), "a second document begins here; programs differ in which one counts"}
	} else if !errors.Is(err, io.EOF) {
		return nil, d.syntax(err)
	}
	if len(root.Content) != 1 || blank(root.Content[0]) { // nothing but comments and markers
		if at := bareTag(src); at >= 0 {
			return nil, &fault{at, "a tag of nothing would be one of what is added; take it away"}
		}
		d.scanComments()
		return d, nil
	}
	w := walker{d: d}
	if d.root, err = w.node(root.Content[0], 0, -1, 0); err != nil {
		return nil, err
	}
	d.scanComments()
	return d, d.check(d.root, 0)
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
func (d *doc) secondDocument(root *yaml.Node) int {
	from := 0
	if len(root.Content) == 1 {
		from = root.Content[0].Line // the line after that of its first character
	}
	for i := from; i < len(d.lines); i++ {
		if line := d.src[d.lines[i]:]; i > 0 && (bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("..."))) {
			return d.lines[i]
		}
	}
	return len(d.src)
}

// syntax places an error of the parser, which tells the line of what encloses
// the problem, if any: the line after the longest beginning of the document
// that parses is the one that a person has to look at. Of a large document only
// so much is tried again.
func (d *doc) syntax(err error) *fault {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if n, _ := fmt.Sscanf(reason, "line %d:", &line); n == 1 {
		_, reason, _ = strings.Cut(reason, ": ")
	}
	for i, tried := len(d.lines)-1, 0; i >= 0 && tried < 1<<20; i-- {
		var n yaml.Node
		if e := yaml.Unmarshal(d.src[:d.lines[i]], &n); e == nil {
			line = i + 1
			break
		}
		tried += d.lines[i]
	}
	line = min(max(line, 1), len(d.lines))
	at := d.lines[line-1]
	text := d.src[at:d.lineEnd(at)]
	if indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]; bytes.IndexByte(indent, '\t') >= 0 {
		reason = "the line is indented with a tab; YAML wants spaces"
	}
	return &fault{at + len(text) - len(bytes.TrimLeft(text, " \t")), "invalid YAML: " + reason}
}

// lineStart returns where the line of off begins.
func (d *doc) lineStart(off int) int {
	i, found := slices.BinarySearch(d.lines, off)
	if !found {
		i--
	}
	return d.lines[i]
}

// lineEnd returns where the line of off ends, without its line end.
func (d *doc) lineEnd(off int) int { return leaf.LineEnd(d.src, off) }

// commented reports whether a comment begins in [from, to).
func (d *doc) commented(from, to int) bool {
	return slices.ContainsFunc(d.comments, func(c leaf.Span) bool { return c.Start >= from && c.Start < to })
}

// entry returns the entry of name, nil where n has none.
func (n *node) entry(name string) *entry {
	for _, e := range n.entries {
		if !e.odd && e.key == name {
			return e
		}
	}
	return nil
}

// empty reports whether n is null, however written, or an empty collection.
func (n *node) empty() bool {
	return n.kind == scalar && n.tag == "!!null" || (n.kind == mapping || n.kind == sequence) && len(n.entries)+len(n.items) == 0
}

// blank reports whether n is not written at all.
func (n *node) blank() bool { return n.kind == scalar && n.Start == n.End }

// what names the kind of n for a message.
func (n *node) what() string {
	switch n.kind {
	case mapping:
		return "a mapping"
	case sequence:
		return "a sequence"
	case alias:
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
