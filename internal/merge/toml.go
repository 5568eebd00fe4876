package merge

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
)

// tomlDoc is a parsed document: its statements in order, and what they mean.
type tomlDoc struct {
	src   []byte
	stmts []statement
	tree  map[string]any
}

// statement is a header or a key with its value, at the top level.
type statement struct {
	span            // of the header with its brackets, or of key = value
	path   []string // from the root of the document
	header bool
	many   bool // a header of an array of tables
	within bool // it lies within an array of tables
	owner  int  // index of the header that a key stands under, -1 none
	value  tomlValue
}

// tomlValue is the right side of a key. Only inline tables have parts.
type tomlValue struct {
	span
	kind  unstable.Kind
	parts []tomlPart
}

// tomlPart is one key with its value in an inline table.
type tomlPart struct {
	span
	path  []string // within the inline table
	value tomlValue
}

func parseTOML(src []byte) (*tomlDoc, error) {
	d := &tomlDoc{src: src, tree: map[string]any{}}
	if n := depth(src, tomlSyntax); n > maxDepth {
		return nil, &Error{Reason: fmt.Sprintf("the document nests %d deep, more than %d", n, maxDepth), Hint: fixHint}
	}
	p := unstable.Parser{}
	p.Reset(src)
	var many [][]string
	var prefix []string
	owner, within := -1, false
	for p.NextExpression() {
		n := p.Expression()
		s := statement{owner: owner}
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			s.header, s.many, s.owner = true, n.Kind == unstable.ArrayTable, -1
			s.path, s.span = d.header(n)
			s.within = s.many || slices.ContainsFunc(many, func(m []string) bool { return hasPrefix(s.path, m) })
			if s.many {
				many = append(many, s.path)
			}
			prefix, owner, within = s.path, len(d.stmts), s.within
		case unstable.KeyValue:
			part := d.part(n)
			s.path = append(slices.Clip(slices.Clone(prefix)), part.path...)
			s.span, s.value, s.within = part.span, part.value, within
		default:
			continue
		}
		if len(s.path) > maxDepth {
			return nil, errorAt(src, s.start, "", fmt.Sprintf("a key has more than %d parts", maxDepth))
		}
		d.stmts = append(d.stmts, s)
	}
	if err := p.Error(); err != nil {
		var pe *unstable.ParserError
		if errors.As(err, &pe) && len(pe.Highlight) > 0 {
			return nil, errorAt(src, int(p.Range(pe.Highlight).Offset), "", "invalid TOML: "+pe.Message)
		}
		return nil, errorAt(src, len(src), "", "invalid TOML: "+err.Error())
	}
	if err := toml.Unmarshal(src, &d.tree); err != nil {
		e := &Error{Reason: "invalid TOML: " + strings.TrimPrefix(err.Error(), "toml: "), Hint: fixHint}
		var de *toml.DecodeError
		if errors.As(err, &de) {
			e.Line, e.Col = de.Position()
		}
		return nil, e
	}
	return d, nil
}

func (d *tomlDoc) header(n *unstable.Node) ([]string, span) {
	path, first, last := keyPath(n.Key())
	open, shut := 1, 1
	if n.Kind == unstable.ArrayTable {
		open, shut = 2, 2
	}
	start := bytes.LastIndexByte(d.src[:first], '[') - (open - 1)
	end := last + bytes.IndexByte(d.src[last:], ']') + shut
	return path, span{start, end}
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

func (d *tomlDoc) part(n *unstable.Node) tomlPart {
	path, first, last := keyPath(n.Key())
	end := int(n.Raw.Offset + n.Raw.Length)
	start := last + bytes.IndexByte(d.src[last:], '=') + 1
	start += len(d.src[start:]) - len(bytes.TrimLeft(d.src[start:], " \t"))
	p := tomlPart{span: span{first, end}, path: path}
	v := n.Value()
	p.value = tomlValue{span: span{start, end}, kind: v.Kind}
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
func (d *tomlDoc) get(path []string) (x any, ok bool, err error) {
	x = d.tree
	for i, name := range path {
		t, isTable := x.(map[string]any)
		if !isTable {
			at := path[:i]
			return nil, false, errorAt(d.src, d.offset(at), Pointer(at...), "is "+tomlKind(x)+", want a table")
		}
		if x, ok = t[name]; !ok {
			return nil, false, nil
		}
	}
	return x, true, nil
}

// offset returns where path is first written.
func (d *tomlDoc) offset(path []string) int {
	for _, s := range d.stmts {
		if hasPrefix(s.path, path) {
			return s.start
		}
		if !s.header && hasPrefix(path, s.path) {
			return partOffset(s.value, path[len(s.path):], s.start)
		}
	}
	return 0
}

func partOffset(v tomlValue, path []string, otherwise int) int {
	for _, p := range v.parts {
		if hasPrefix(p.path, path) {
			return p.start
		}
		if hasPrefix(path, p.path) {
			return partOffset(p.value, path[len(p.path):], p.start)
		}
	}
	return otherwise
}

func tomlKind(x any) string {
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

func readTOML(doc []byte, ks []key) (map[string]Leaf, error) {
	_, src := cutBOM(doc)
	d, err := parseTOML(src)
	if err != nil {
		return nil, err
	}
	out := map[string]Leaf{}
	for _, k := range ks {
		v, err := d.leaf(k)
		if err != nil {
			return nil, err
		}
		if v != nil {
			line, _ := position(src, d.offset(k.path))
			leaf := Leaf{Key: k.String(), Value: v, Line: line}
			if sp, ok := d.inline(k.path); ok && len(sp.rest) == 0 && k.kind == valueKey {
				at := d.value(sp)
				leaf.Raw = string(src[at.start:at.end])
			}
			out[k.String()] = leaf
		}
	}
	return out, nil
}

// leaf returns the canonical value of k, nil where it is not there.
func (d *tomlDoc) leaf(k key) (Value, error) {
	x, ok, err := d.get(k.path)
	if !ok || err != nil {
		return nil, err
	}
	if k.kind == memberKey {
		a, isArray := x.([]any)
		if !isArray {
			return nil, errorAt(d.src, d.offset(k.path), Pointer(k.path...), "is "+tomlKind(x)+", want an array")
		}
		for _, e := range a {
			if v, err := tomlToJSON(e); err != nil || bytes.Equal(v, k.member) {
				return v, err
			}
		}
		return nil, nil
	}
	return tomlToJSON(x)
}

// tomlToJSON writes a decoded value as canonical JSON. What JSON has no form
// for becomes {"$datetime":"…"} or {"$float":"inf"}.
func tomlToJSON(x any) (Value, error) {
	v, err := json.Marshal(plain(x))
	if err != nil {
		return nil, fmt.Errorf("read toml value: %w", err)
	}
	return Canonical(v)
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
