// Package describe says what a CUE schema accepts, in the words of errors. It checks
// nothing. Call Value, or LevelOf for the fields of a struct.
package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/cuectx"
)

// Value describes what schema accepts: its @want, the values that it lists,
// or its kind.
func Value(schema cue.Value, want string) string {
	if want = cmp.Or(want, Wanted(schema)); want != "" {
		return want
	}
	if names := Choices(schema); len(names) > 0 {
		return "one of " + strings.Join(names, "|")
	}
	if op, parts := cue.Dereference(schema).Expr(); op == cue.OrOp {
		var each []string
		for _, p := range parts {
			each = append(each, Value(p, ""))
		}
		return strings.Join(each, " or ")
	}
	switch schema.IncompleteKind() {
	case cue.StringKind:
		if strings.Contains(fmt.Sprint(schema), "a-z0-9.-") {
			return nameRule
		}
		if strings.Contains(fmt.Sprint(schema), "A-Za-z0-9._-]{0,79}") {
			return "an id of letters, digits, dots, underscores and hyphens, at most 80, with no .. and no dot or .lock at its end"
		}
		return "a string that is not empty"
	case cue.BoolKind:
		return "true or false"
	case cue.IntKind:
		return "a whole number"
	case cue.NumberKind:
		return "a number"
	case cue.ListKind:
		return "a list"
	case cue.StructKind:
		return structure(schema)
	}
	return fmt.Sprint(schema)
}

// structure lists the fields of a struct, required ones first.
func structure(schema cue.Value) string {
	l := LevelOf(schema)
	names := slices.DeleteFunc(l.Names(), func(name string) bool { return slices.Contains(l.Required, name) })
	names = slices.Concat(l.Required, names)
	if len(l.Patterns) > 0 {
		names = append(names, "NAME")
	}
	const enough = 4
	if len(names) > enough {
		names = append(names[:enough], "…")
	}
	for i, name := range names {
		if name != "…" {
			names[i] = name + ": …"
		}
	}
	if len(names) == 0 {
		return "{…}"
	}
	return "{" + strings.Join(names, ", ") + "}"
}

const nameRule = "a name of lower-case letters, digits, dots and hyphens"

// Name describes what a pattern for names accepts.
func Name(pattern cue.Value) string {
	switch s := fmt.Sprint(pattern); {
	case strings.Contains(s, "a-z0-9.-"):
		return nameRule
	case strings.Contains(s, "A-Za-z0-9_]*"):
		return "letters, digits and underscores"
	case strings.Contains(s, "A-Za-z0-9-]"):
		return "letters, digits and hyphens"
	}
	return "letters, digits, dots, hyphens and underscores"
}

// Attribute returns the text of the field's attribute of that name; "yes" for a
// bare @name().
func Attribute(v cue.Value, name string) string {
	a := v.Attribute(name)
	if a.Err() != nil {
		return ""
	}
	if s, err := a.String(0); err == nil && s != "" {
		return s
	}
	return "yes"
}

// Wanted returns the @want of a value, or of the definition that it names.
func Wanted(v cue.Value) string {
	return cmp.Or(Attribute(v, "want"), Attribute(cue.Dereference(v), "want"))
}

// Choices returns the strings in a disjunction.
func Choices(schema cue.Value) []string {
	op, parts := cue.Dereference(schema).Expr()
	if op != cue.OrOp {
		return nil
	}
	var names []string
	for _, p := range parts {
		if s, err := p.String(); err == nil {
			names = append(names, s)
		}
	}
	return names
}

// Disjunct returns the part of schema of that kind, if there is one.
func Disjunct(schema cue.Value, kind cue.Kind) (cue.Value, bool) {
	if schema.IncompleteKind() == cue.TopKind {
		return schema, true
	}
	if schema.IncompleteKind()&kind == 0 {
		return schema, false
	}
	if op, parts := cue.Dereference(schema).Expr(); op == cue.OrOp {
		for _, p := range parts {
			if p.IncompleteKind() == kind {
				return p, true
			}
		}
	}
	return schema, true
}

// Text returns a value as written, shortened if it is long.
func Text(v cue.Value) string {
	switch v.IncompleteKind() {
	case cue.StructKind:
		return "{…}"
	case cue.ListKind:
		return "a list"
	}
	if s, err := v.String(); err == nil {
		return strconv.Quote(termtext.Clip(s, 61))
	}
	return fmt.Sprint(v)
}

// Level describes which fields a struct of the schema allows.
type Level struct {
	Fields   map[string]cue.Value
	Required []string
	Patterns []Pattern
	Open     bool
}

type Pattern struct{ Name, Value cue.Value }

func LevelOf(schema cue.Value) Level {
	l := Level{Fields: map[string]cue.Value{}, Open: schema.Allows(cue.AnyString)}
	it, err := schema.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		return l
	}
	for it.Next() {
		sel := it.Selector()
		switch sel.ConstraintType() {
		case cue.PatternConstraint:
			l.Patterns = append(l.Patterns, Pattern{sel.Pattern(), it.Value()})
			continue
		case cue.RequiredConstraint:
			l.Required = append(l.Required, sel.Unquoted())
		}
		l.Fields[sel.Unquoted()] = it.Value()
	}
	return l
}

// Names returns the fields of l, sorted.
func (l Level) Names() []string {
	var names []string
	for name := range l.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Match returns the pattern that matches name.
func (l Level) Match(name string) (cue.Value, bool) {
	for _, p := range l.Patterns {
		if p.Name.Unify(cuectx.Context().Encode(name)).Err() == nil {
			return p.Value, true
		}
	}
	return cue.Value{}, false
}
