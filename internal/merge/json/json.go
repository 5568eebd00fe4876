// Package json edits leaves of JSON documents, with or without comments and
// trailing commas, through the parser of hujson. What it writes looks like what
// stands beside it; it never introduces a comment or a trailing comma. JSON and
// JSONC are its formats, and Flatten takes a fragment apart into leaves.
package json

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"aisync.dev/aisync/internal/merge/brackets"
	"aisync.dev/aisync/internal/merge/leaf"
)

// JSON and JSONC are one: programs differ in what they read, not in what is
// kept of it.
var (
	JSON  = leaf.Format{Name: "json", Holds: kinds, Parse: parse}
	JSONC = leaf.Format{Name: "jsonc", Holds: kinds, Parse: parse}
)

var kinds = []leaf.Kind{leaf.KindValue, leaf.KindMember, leaf.KindHook}

var syntax = brackets.Syntax{Line: "//", Block: true}

// doc is a parsed document. Offsets in root are those of src.
type doc struct {
	src   []byte
	root  hujson.Value
	blank bool // src holds no value, only white space and comments
}

func parse(src []byte) (leaf.Document, error) { return check(src) }

// check parses a document that a person or another program wrote, and refuses
// what cannot be edited.
func check(src []byte) (*doc, error) {
	if n := syntax.Depth(src); n > leaf.MaxDepth {
		return nil, leaf.ErrTooDeep(n)
	}
	d, err := reparse(src)
	if err != nil || d.blank {
		return d, err
	}
	return d, d.checkNames(&d.root)
}

// Reparse leaves out the checks: the document that was edited passed them.
func (*doc) Reparse(src []byte) (leaf.Document, error) { return reparse(src) }

func reparse(src []byte) (*doc, error) {
	d := &doc{src: src}
	if onlyComments(src) {
		d.blank = true
		return d, nil
	}
	// A line comment at the very end needs a line end to parse; it is never
	// part of an edit, since edits are within the root.
	root, err := hujson.Parse(append(bytes.Clone(src), '\n'))
	if err != nil {
		return nil, syntaxError(src, err)
	}
	d.root = root
	return d, nil
}

// onlyComments reports whether src is white space and comments.
func onlyComments(src []byte) bool {
	for i := 0; i < len(src); {
		if e, _ := syntax.Comment(src, i); e > i {
			i = e
			continue
		}
		if !strings.ContainsRune(" \t\r\n", rune(src[i])) {
			return false
		}
		i++
	}
	return true
}

// hujsonPlace is compiled when it is first needed: a program that is called
// many times a minute should not compile it at each start.
var hujsonPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^hujson: line (\d+), column (\d+): (.*)$`)
})

func syntaxError(src []byte, err error) *leaf.Error {
	e := &leaf.Error{Reason: "invalid JSON: " + err.Error(), Hint: leaf.FixHint}
	if m := hujsonPlace().FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Col, _ = strconv.Atoi(m[2])
		reason := strings.Replace(m[3], "unexpected EOF", "the document ends too early", 1)
		if len(reason) > 200 {
			reason = strings.ToValidUTF8(reason[:200], "") + "…"
		}
		e.Reason = "invalid JSON: " + reason
		if lines := bytes.Count(src, []byte("\n")) + 1; e.Line > lines {
			e.Line, e.Col = leaf.Position(src, len(src))
		}
	}
	return e
}

// checkNames refuses a name that stands twice in one object: programs differ
// in which one counts, so none can be owned.
func (d *doc) checkNames(v *hujson.Value) error {
	switch c := v.Value.(type) {
	case *hujson.Object:
		seen := make(map[string]int, len(c.Members))
		for i := range c.Members {
			m := &c.Members[i]
			name := nameOf(m.Name)
			if at, dup := seen[name]; dup {
				line, _ := leaf.Position(d.src, at)
				return leaf.ErrorAt(d.src, m.Name.StartOffset, "", fmt.Sprintf("the name %s stands twice in one object, first in line %d", leaf.Quote(name), line))
			}
			seen[name] = m.Name.StartOffset
			if err := d.checkNames(&m.Value); err != nil {
				return err
			}
		}
	case *hujson.Array:
		for i := range c.Elements {
			if err := d.checkNames(&c.Elements[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Leaf returns the first value that k names.
func (d *doc) Leaf(k leaf.Key) (leaf.Leaf, bool, error) {
	v, err := d.leaf(k)
	if v == nil || err != nil {
		return leaf.Leaf{}, false, err
	}
	c, err := d.value(v)
	if err != nil {
		return leaf.Leaf{}, false, err
	}
	line, _ := leaf.Position(d.src, v.StartOffset)
	return leaf.Leaf{Value: c, Line: line, Raw: string(d.src[v.StartOffset:v.EndOffset])}, true, nil
}
