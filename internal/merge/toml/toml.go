// Package toml edits leaves of TOML documents, of version 1.0 and what go-toml
// reads of 1.1. A table that is written in several statements is edited
// statement by statement; an array of tables has no names, so that nothing in it
// can be owned. TOML is its format.
package toml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"aisync.dev/aisync/internal/merge/brackets"
	"aisync.dev/aisync/internal/merge/leaf"
)

// TOML is the format of this package.
var TOML = leaf.Format{
	Name:  "toml",
	Holds: []leaf.Kind{leaf.KindValue, leaf.KindMember},
	Parse: func(src []byte) (leaf.Document, error) { return parse(src) },
}

var syntax = brackets.Syntax{Line: "#", Triple: true}

// doc is a parsed document: its statements in order, and what they mean.
type doc struct {
	src   []byte
	stmts []statement
	tree  map[string]any
}

// statement is a header or a key with its value, at the top level.
type statement struct {
	leaf.Span          // of the header with its brackets, or of key = value
	path      []string // from the root of the document
	header    bool
	many      bool // a header of an array of tables
	within    bool // it lies within an array of tables
	owner     int  // index of the header that a key stands under, -1 none
	base      int  // how many names of path that header gives
	value     value
}

// value is the right side of a key. Only inline tables have parts.
type value struct {
	leaf.Span
	kind  unstable.Kind
	parts []part
}

// part is one key with its value in an inline table.
type part struct {
	leaf.Span
	path  []string // within the inline table
	value value
}

func parse(src []byte) (*doc, error) {
	d := &doc{src: src, tree: map[string]any{}}
	if n := syntax.Depth(src); n > leaf.MaxDepth {
		return nil, leaf.ErrTooDeep(n)
	}
	p := unstable.Parser{}
	p.Reset(src)
	var many [][]string
	var prefix []string
	owner, within := -1, false
	for p.NextExpression() {
		n := p.Expression()
		s := statement{owner: owner, base: len(prefix)}
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			s.header, s.many, s.owner = true, n.Kind == unstable.ArrayTable, -1
			s.path, s.Span = d.header(n)
			s.within = s.many || slices.ContainsFunc(many, func(m []string) bool { return hasPrefix(s.path, m) })
			if s.many {
				many = append(many, s.path)
			}
			prefix, owner, within = s.path, len(d.stmts), s.within
		case unstable.KeyValue:
			part := d.part(n)
			s.path = append(slices.Clip(slices.Clone(prefix)), part.path...)
			s.Span, s.value, s.within = part.Span, part.value, within
		default:
			continue
		}
		if len(s.path) > leaf.MaxDepth {
			return nil, leaf.ErrorAt(src, s.Start, "", fmt.Sprintf("a key has more than %d parts", leaf.MaxDepth))
		}
		d.stmts = append(d.stmts, s)
	}
	if err := p.Error(); err != nil {
		var pe *unstable.ParserError
		if errors.As(err, &pe) && len(pe.Highlight) > 0 {
			return nil, leaf.ErrorAt(src, int(p.Range(pe.Highlight).Offset), "", "invalid TOML: "+pe.Message)
		}
		return nil, leaf.ErrorAt(src, len(src), "", "invalid TOML: "+err.Error())
	}
	if err := toml.Unmarshal(src, &d.tree); err != nil {
		e := &leaf.Error{Reason: "invalid TOML: " + strings.TrimPrefix(err.Error(), "toml: "), Hint: leaf.FixHint}
		var de *toml.DecodeError
		if errors.As(err, &de) {
			e.Line, e.Col = de.Position()
		}
		return nil, e
	}
	return d, nil
}

func (d *doc) header(n *unstable.Node) ([]string, leaf.Span) {
	path, first, last := keyPath(n.Key())
	open, shut := 1, 1
	if n.Kind == unstable.ArrayTable {
		open, shut = 2, 2
	}
	start := bytes.LastIndexByte(d.src[:first], '[') - (open - 1)
	end := last + bytes.IndexByte(d.src[last:], ']') + shut
	return path, leaf.Span{Start: start, End: end}
}

func keyPath(it unstable.Iterator) (path []string, first, last int) {
	for it.Next() {
		k := it.Node()
		if path == nil {
			first = int(k.Raw.Offset)
		}
		last = int(k.Raw.Offset + k.Raw.Length)
		path = append(path, string(k.Data))
	}
	return path, first, last
}

func (d *doc) part(n *unstable.Node) part {
	path, first, last := keyPath(n.Key())
	end := int(n.Raw.Offset + n.Raw.Length)
	start := last + bytes.IndexByte(d.src[last:], '=') + 1
	start += len(d.src[start:]) - len(bytes.TrimLeft(d.src[start:], " \t"))
	p := part{Span: leaf.Span{Start: first, End: end}, path: path}
	v := n.Value()
	p.value = value{Span: leaf.Span{Start: start, End: end}, kind: v.Kind}
	if v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				p.value.parts = append(p.value.parts, d.part(it.Node()))
			}
		}
	}
	return p
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// get returns what path means; ok is false where nothing is there. It is an
// error where something that is no table is in the way.
func (d *doc) get(path []string) (x any, ok bool, err error) {
	x = d.tree
	for i, name := range path {
		t, isTable := x.(map[string]any)
		if !isTable {
			at := path[:i]
			return nil, false, d.refuse(at, "is "+kindName(x)+", want a table")
		}
		if x, ok = t[name]; !ok {
			return nil, false, nil
		}
	}
	return x, true, nil
}

// offset returns where path is first written.
func (d *doc) offset(path []string) int {
	for _, s := range d.stmts {
		if hasPrefix(s.path, path) {
			return s.Start
		}
		if !s.header && hasPrefix(path, s.path) {
			return partOffset(s.value, path[len(s.path):], s.Start)
		}
	}
	return 0
}

func partOffset(v value, path []string, otherwise int) int {
	for _, p := range v.parts {
		if hasPrefix(p.path, path) {
			return p.Start
		}
		if hasPrefix(path, p.path) {
			return partOffset(p.value, path[len(p.path):], p.Start)
		}
	}
	return otherwise
}

func kindName(x any) string {
	switch x.(type) {
	case map[string]any:
		return "a table"
	case []any:
		return "an array"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	}
	return "a date or time"
}

// Reparse parses the text that an edit made of d.
func (*doc) Reparse(src []byte) (leaf.Document, error) { return parse(src) }

// Leaf returns the leaf that k names.
func (d *doc) Leaf(k leaf.Key) (leaf.Leaf, bool, error) {
	v, err := d.leaf(k)
	if v == nil || err != nil {
		return leaf.Leaf{}, false, err
	}
	line, _ := leaf.Position(d.src, d.offset(k.Path))
	l := leaf.Leaf{Value: v, Line: line}
	if sp, ok := d.inline(k.Path); ok && len(sp.rest) == 0 && k.Kind == leaf.KindValue {
		at := d.value(sp)
		l.Raw = string(d.src[at.Start:at.End])
	}
	return l, true, nil
}

// leaf returns the canonical value of k, nil where it is not there.
func (d *doc) leaf(k leaf.Key) (leaf.Value, error) {
	x, ok, err := d.get(k.Path)
	if !ok || err != nil {
		return nil, err
	}
	if k.Kind == leaf.KindMember {
		i, err := d.element(x, k)
		if i < 0 || err != nil {
			return nil, err
		}
		return k.Member, nil
	}
	return toJSON(x)
}

// element returns which element of the array x equals the member of k, -1 for none.
func (d *doc) element(x any, k leaf.Key) (int, error) {
	a, ok := x.([]any)
	if !ok {
		return -1, d.refuse(k.Path, "is "+kindName(x)+", want an array")
	}
	for i, e := range a {
		if v, err := toJSON(e); err != nil || bytes.Equal(v, k.Member) {
			return i, err
		}
	}
	return -1, nil
}

// toJSON writes a decoded value as canonical JSON. What JSON has no form
// for becomes {"$datetime":"…"} or {"$float":"inf"}.
func toJSON(x any) (leaf.Value, error) {
	v, err := json.Marshal(plain(x))
	if err != nil {
		return nil, fmt.Errorf("read toml value: %w", err)
	}
	return leaf.Canonical(v)
}

func plain(x any) any {
	switch x := x.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, v := range x {
			m[k] = plain(v)
		}
		return m
	case []any:
		a := make([]any, len(x))
		for i, v := range x {
			a[i] = plain(v)
		}
		return a
	case float64:
		switch {
		case math.IsNaN(x):
			return map[string]any{"$float": "nan"}
		case math.IsInf(x, 0):
			return map[string]any{"$float": strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+")}
		}
		return x
	case time.Time:
		return map[string]any{"$datetime": x.Format(time.RFC3339Nano)}
	case fmt.Stringer: // local date, time, date and time
		return map[string]any{"$datetime": x.String()}
	}
	return x
}
