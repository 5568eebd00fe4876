package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/internal/termtext"
)

// describe describes what schema accepts: its @want, the values that it lists,
// or its kind.
func describe(schema cue.Value, want string) string {
	if want = cmp.Or(want, wanted(schema)); want != "" {
		return want
	}
	if names := choices(schema); len(names) > 0 {
		return "one of " + strings.Join(names, "|")
	}
	if op, parts := cue.Dereference(schema).Expr(); op == cue.OrOp {
		var each []string
		for _, p := range parts {
			each = append(each, describe(p, ""))
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
		return describeStruct(schema)
	}
	return fmt.Sprint(schema)
}

// describeStruct lists the fields of a struct, required ones first.
func describeStruct(schema cue.Value) string {
	l := levelOf(schema)
	names := slices.DeleteFunc(l.names(), func(name string) bool { return slices.Contains(l.required, name) })
	names = slices.Concat(l.required, names)
	if len(l.patterns) > 0 {
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

// describeName describes what a pattern for names accepts.
func describeName(pattern cue.Value) string {
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

// attribute returns the text of the field's attribute of that name; "yes" for a
// bare @name().
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

// wanted returns the @want of a value, or of the definition that it names.
func wanted(v cue.Value) string {
	return cmp.Or(attribute(v, "want"), attribute(cue.Dereference(v), "want"))
}

// choices returns the strings in a disjunction.
func choices(schema cue.Value) []string {
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

// disjunct returns the part of schema of that kind, if there is one.
func disjunct(schema cue.Value, kind cue.Kind) (cue.Value, bool) {
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

// text returns a value as written, shortened if it is long.
func text(v cue.Value) string {
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
