package schema

import (
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

// describe says in words what schema takes: its own @want, the values that it
// lists, or its kind.
func describe(schema cue.Value, want string) string {
	if want == "" {
		want = attribute(schema, "want")
	}
	if want != "" {
		return want
	}
	if names := choices(schema); len(names) > 0 {
		return "one of " + strings.Join(names, "|")
	}
	switch schema.IncompleteKind() {
	case cue.StringKind:
		if strings.Contains(fmt.Sprint(schema), "a-z0-9.-") {
			return nameRule
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
		return "fields in {}"
	}
	return fmt.Sprint(schema)
}

const nameRule = "a name of lower-case letters, digits, dots and hyphens"

func describeName(pattern cue.Value) string {
	if s := fmt.Sprint(pattern); strings.Contains(s, "a-z0-9.-") {
		return nameRule
	}
	return "letters, digits and -_."
}

// attribute is the text of the field's attribute of that name; a bare @name()
// counts as "yes".
func attribute(v cue.Value, name string) string {
	a := v.Attribute(name)
	if a.Err() != nil {
		return ""
	}
	if s, err := a.String(0); err == nil && s != "" {
		return s
	}
	return "yes"
}

// choices is the strings that a disjunction lists.
func choices(schema cue.Value) []string {
	op, parts := schema.Expr()
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

// disjunct is the part of schema that is of that kind, if there is one.
func disjunct(schema cue.Value, kind cue.Kind) (cue.Value, bool) {
	if schema.IncompleteKind() == cue.TopKind {
		return schema, true
	}
	if schema.IncompleteKind()&kind == 0 {
		return schema, false
	}
	if op, parts := schema.Expr(); op == cue.OrOp {
		for _, p := range parts {
			if p.IncompleteKind() == kind {
				return p, true
			}
		}
	}
	return schema, true
}

// text is a value as it was written, cut where it is long.
func text(v cue.Value) string {
	switch v.IncompleteKind() {
	case cue.StructKind:
		return "fields in {}"
	case cue.ListKind:
		return "a list"
	}
	if s, err := v.String(); err == nil {
		if len(s) > 60 {
			s = s[:60] + "…"
		}
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}
