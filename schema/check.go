package schema

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"

	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/describe"
)

// check compares the person's values with a definition of the schema. Where
// unification fails, it walks both instead of reading CUE's errors, because CUE
// stops at the first wrong level and names places in the schema. Where the walk
// finds nothing, unification decides.
func (d *document) check(definition cue.Value) {
	if fits(d.root, definition) {
		return
	}
	d.fit = fittingFields(d.root, describe.LevelOf(definition))
	d.evaluation(d.root.Validate(cue.Concrete(false)))
	before := len(d.problems)
	d.compare(nil, d.root, definition, "")
	if len(d.problems) == before && before == 0 {
		err := definition.Unify(d.root).Validate(cue.Concrete(false))
		d.evaluation(err)
	}
}

// fits reports whether all of user is concrete and unifies with schema: then a
// walk would find nothing.
func fits(user, schema cue.Value) bool {
	return user.Validate(cue.Concrete(true)) == nil && schema.Unify(user).Validate(cue.Concrete(true), cue.Final()) == nil
}

// fittingFields returns the fields of user that fit. In a catalog of a thousand
// entries beside one wrong host, only the host needs a walk.
func fittingFields(user cue.Value, l describe.Level) map[string]bool {
	out := map[string]bool{}
	it, err := user.Fields()
	for err == nil && it.Next() {
		name := it.Selector().Unquoted()
		if schema, ok := l.Fields[name]; ok && fits(it.Value(), schema) {
			out[name] = true
		}
	}
	return out
}

func (d *document) compare(path []string, user, schema cue.Value, want string) {
	kind := kindOf(user)
	if kind == cue.BottomKind {
		return // evaluation has reported it
	}
	want = cmp.Or(describe.Wanted(schema), want)
	if kind == cue.StructKind || kind == cue.ListKind {
		if part, ok := describe.Disjunct(schema, kind); ok {
			schema = part
		} else {
			d.wrong(path, user, schema, want)
			return
		}
	}
	switch {
	case schema.IncompleteKind() == cue.TopKind:
		d.concrete(path, user)
	case kind == cue.StructKind:
		d.compareStruct(path, user, schema)
	case kind == cue.ListKind:
		d.compareList(path, user, schema, want)
	case schema.Unify(user).Err() != nil:
		d.wrong(path, user, schema, want)
	case describe.Attribute(schema, "bound") == "":
		d.concrete(path, user)
	}
}

// kindOf returns the kind of v. A struct or list with an error inside still
// counts as a struct or list: the rest of it is readable.
func kindOf(v cue.Value) cue.Kind {
	kind := v.IncompleteKind()
	if kind != cue.BottomKind {
		return kind
	}
	if _, err := v.Fields(); err == nil {
		return cue.StructKind
	}
	if _, err := v.List(); err == nil {
		return cue.ListKind
	}
	return cue.BottomKind
}

func (d *document) compareStruct(path []string, user, schema cue.Value) {
	l := describe.LevelOf(schema)
	it, err := user.Fields()
	if err != nil {
		return
	}
	present := map[string]bool{}
	for it.Next() {
		name := it.Selector().Unquoted()
		present[name] = true
		if len(path) == 0 && d.fit[name] {
			continue
		}
		at := append(path[:len(path):len(path)], name)
		if s, ok := l.Fields[name]; ok {
			d.compare(at, it.Value(), s, "")
		} else if s, ok := l.Match(name); ok {
			d.compare(at, it.Value(), s, "")
		} else if l.Open {
			d.concrete(at, it.Value())
		} else {
			d.notAllowed(at, l)
		}
	}
	for _, name := range l.Required {
		if !present[name] {
			d.add(Problem{Pos: d.at.Label(path...), Path: pathText(path), Message: name + " is missing", Hint: "want " + describe.Value(l.Fields[name], "")})
		}
	}
}

func (d *document) compareList(path []string, user, schema cue.Value, want string) {
	any, before := schema.LookupPath(cue.MakePath(cue.AnyIndex)), len(d.problems)
	it, err := user.List()
	if err != nil {
		return
	}
	for i := 0; it.Next(); i++ {
		elem := schema.LookupPath(cue.MakePath(cue.Index(i))) // the first ones may differ
		if !elem.Exists() {
			elem = any
		}
		d.compare(append(path[:len(path):len(path)], strconv.Itoa(i)), it.Value(), elem, "")
	}
	if n, err := user.Len().Int64(); err == nil && n == 0 && len(d.problems) == before && schema.Unify(user).Err() != nil {
		d.add(Problem{Pos: d.at.Value(path...), Path: pathText(path), Message: "want " + describe.Value(schema, want) + ", got an empty list"})
	}
}

// concrete reports values in user that are still a type or a bound.
func (d *document) concrete(path []string, user cue.Value) {
	for _, e := range cueerrors.Errors(user.Validate(cue.Concrete(true))) {
		at, got := path, describe.Text(user)
		if p := errorPath(e); len(p) > len(path) {
			at = p
		}
		if format, args := e.Msg(); strings.HasPrefix(format, "incomplete value") && len(args) > 0 {
			got = fmt.Sprint(args[0])
		}
		d.add(Problem{Pos: d.at.Value(at...), Path: pathText(at), Message: "want a value, got " + got})
	}
}

func (d *document) notAllowed(path []string, l describe.Level) {
	name := path[len(path)-1]
	p := Problem{Pos: d.at.Label(path...), Path: pathText(path)}
	switch {
	case len(path) == 1 && len(l.Required) == 1 && l.Required[0] == "project":
		p.Message, p.Hint = "field not allowed: a project's spec is input from strangers, so it may hold project: only", "move it to a host's spec"
	case len(path) == 1 && name == "project":
		p.Message, p.Hint = "field not allowed in a host's spec", "move it to "+ProjectFile+" in the project's root"
	case len(path) == 2 && path[0] == "project" && name == "extends":
		p.Message, p.Hint = "the spec of a project's root extends none", "where this one is nested, write a plain text: extends: \"../..\""
	case len(l.Patterns) > 0:
		p.Message = fmt.Sprintf("bad name %q", name)
		p.Hint = "want " + describe.Name(l.Patterns[0].Name)
	default:
		p.Message = "field not allowed"
		known := l.Names()
		if near := nearest.Name(name, known); near != "" {
			p.Hint = "did you mean " + strconv.Quote(near) + "? "
		}
		p.Hint += "allowed: " + strings.Join(known, ", ")
	}
	d.add(p)
}

func (d *document) wrong(path []string, user, schema cue.Value, want string) {
	p := Problem{Pos: d.at.Value(path...), Path: pathText(path)}
	p.Message = fmt.Sprintf("want %s, got %s", describe.Value(schema, want), describe.Text(user))
	if s, err := user.String(); err == nil {
		if near := nearest.Name(s, describe.Choices(schema)); near != "" {
			p.Hint = "did you mean " + strconv.Quote(near) + "?"
		}
	}
	d.add(p)
}
