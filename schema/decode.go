package schema

import (
	"bytes"
	"encoding/json"
	"sort"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/schema/spec"
)

// node is one value of a document and its path. Reading is lenient: a value of
// the wrong type reads as zero, because check has reported it.
type node struct {
	doc  *document
	path []string
	v    cue.Value
	has  map[string]bool // the names of its fields, if listed: see listed
}

func (d *document) node() node { return node{doc: d, v: d.root} }

// get returns the field of that name; it may not exist.
func (n node) get(name string) node {
	field := node{doc: n.doc, path: append(n.path[:len(n.path):len(n.path)], name)}
	if n.has == nil || n.has[name] {
		field.v = n.v.LookupPath(cue.MakePath(cue.Str(name)))
	}
	return field
}

// listed returns n for reading many fields, most of which are absent: CUE
// allocates an error for each lookup that fails.
func (n node) listed() node {
	n.has = map[string]bool{}
	for _, f := range n.fields() {
		n.has[f.name()] = true
	}
	return n
}

func (n node) exists() bool { return n.v.Exists() }
func (n node) name() string { return n.path[len(n.path)-1] }

func (n node) str() string {
	if !n.exists() {
		return ""
	}
	s, _ := n.v.String()
	return s
}

func (n node) int() int64 {
	if !n.exists() {
		return 0
	}
	i, _ := n.v.Int64()
	return i
}

func (n node) bool(otherwise bool) bool {
	if !n.exists() {
		return otherwise
	}
	if b, err := n.v.Bool(); err == nil {
		return b
	}
	return otherwise
}

// getStr, getStrings and getBool read the field of that name. There are some two
// hundred calls; written out, each would take ten times the code.
func (n *node) getStr(name string) string { return n.get(name).str() }

func (n *node) getStrings(name string) []string { return n.get(name).strings() }

func (n *node) getBool(name string) bool { return n.get(name).bool(false) }

func (n node) flag() spec.Flag {
	if !n.exists() {
		return spec.Flag{}
	}
	return spec.Flag{On: n.bool(false), Pos: n.valuePos()}
}

func (n node) named() spec.Named {
	if !n.exists() {
		return spec.Named{}
	}
	return spec.Named{Value: n.str(), Pos: n.valuePos()}
}

// fields returns the fields of a struct, by name.
func (n node) fields() []node {
	if !n.exists() {
		return nil
	}
	it, err := n.v.Fields()
	if err != nil {
		return nil
	}
	var nodes []node
	for it.Next() {
		name := it.Selector().Unquoted()
		nodes = append(nodes, node{doc: n.doc, path: append(n.path[:len(n.path):len(n.path)], name), v: it.Value()})
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].name() < nodes[j].name() })
	return nodes
}

// elements returns the elements of a list, in order.
func (n node) elements() []node {
	if !n.exists() {
		return nil
	}
	it, err := n.v.List()
	if err != nil {
		return nil
	}
	var nodes []node
	for i := 0; it.Next(); i++ {
		nodes = append(nodes, node{doc: n.doc, path: append(n.path[:len(n.path):len(n.path)], strconv.Itoa(i)), v: it.Value()})
	}
	return nodes
}

func (n node) strings() []string {
	var list []string
	for _, e := range n.elements() {
		list = append(list, e.str())
	}
	return list
}

func (n node) nameds() []spec.Named {
	var list []spec.Named
	for _, e := range n.elements() {
		list = append(list, e.named())
	}
	return list
}

// labelPos returns the position of the field's name, valuePos that of its value.
func (n node) labelPos() spec.Position { return n.doc.at.Label(n.path...) }
func (n node) valuePos() spec.Position { return n.doc.at.Value(n.path...) }

// json returns the value as canonical JSON: sorted keys, no HTML escapes. It is
// nil for a value that is not concrete.
func (n node) json() []byte {
	if !n.exists() {
		return nil
	}
	raw, err := n.v.MarshalJSON()
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// problem adds a problem at the value of n.
func (n node) problem(message, hint string) {
	n.doc.add(Problem{Pos: n.valuePos(), Path: pathText(n.path), Message: message, Hint: hint})
}

func (n node) envVars() []spec.EnvVar {
	var vars []spec.EnvVar
	for _, f := range n.fields() {
		e := spec.EnvVar{Name: f.name(), Value: f.str(), Pos: f.labelPos()}
		if kindOf(f.v) == cue.StructKind {
			e.Secret = &spec.Secret{Env: f.getStr("env"), File: f.getStr("file")}
			if e.Secret.Env != "" && e.Secret.File != "" || len(f.fields()) == 0 {
				f.problem("a secret is named by exactly one of env and file", `write {env: "NAME"} or {file: "path"}`)
			}
		}
		vars = append(vars, e)
	}
	return vars
}

func (n node) settings() []spec.Settings {
	var all []spec.Settings
	for _, f := range n.fields() {
		s := spec.Settings{Runtime: f.name(), JSON: f.json(), Pos: f.labelPos(), Leaves: map[string]spec.Position{}}
		f.leaves("", s.Leaves)
		all = append(all, s)
	}
	return all
}

// leaves records the position of every value in n under its JSON pointer,
// including objects and arrays.
func (n node) leaves(pointer string, into map[string]spec.Position) {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	parts := n.fields()
	if kindOf(n.v) == cue.ListKind {
		parts = n.elements()
	}
	for _, p := range parts {
		at := pointer + "/" + escape.Replace(p.name())
		into[at] = p.labelPos()
		p.leaves(at, into)
	}
}
