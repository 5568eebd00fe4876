package mcpserver

import (
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/reference"
)

// words returns the words of a command line that list asks for.
func (f *filling) words(list []Argument) []string {
	var out []string
	for _, a := range list {
		switch {
		case a.Type != "positional" && a.Type != "named":
			f.fail(a.Name, "an argument is of the unknown kind %q", termtext.Clip(termtext.Safe(a.Type), 50))
		case a.Type == "named" && (a.Name == "" || termtext.Safe(a.Name) != a.Name || strings.ContainsAny(a.Name, " \t")):
			f.fail(a.Name, "an argument has a name that no command line can have")
		case a.Type == "named":
			out = append(out, f.flag(a)...)
		default:
			out = append(out, f.positional(a)...)
		}
	}
	return out
}

// flag returns a named argument. Name and value are two words, as other clients
// have them: fewer programs read NAME=VALUE. A true one is its name alone.
func (f *filling) flag(a Argument) []string {
	plain, name := strings.TrimLeft(a.Name, "-"), reference.Escape(a.Name)
	asks := a.Value != "" || a.Default != "" || a.Description != "" || a.IsSecret || a.Placeholder != "" || len(a.Choices) > 0 || a.Format != ""
	if !asks && f.ask.Values[a.Name] == nil && f.ask.Values[plain] == nil {
		return []string{name} // a switch
	}
	var out []string
	for _, v := range f.values(a, a.Name, plain, a.Name) {
		switch {
		case v == "" || a.Format == "boolean" && v == "true":
			out = append(out, name)
		case f.joined || a.Format == "boolean":
			out = append(out, name+"="+v)
		default:
			out = append(out, name, v)
		}
	}
	return out
}

func (f *filling) positional(a Argument) []string {
	if a.Value == "" && a.ValueHint == "" {
		f.fail("", "an argument has neither a value nor a name")
		return nil
	}
	return f.values(a, a.ValueHint, a.ValueHint)
}

// values returns the texts of one argument: several where it may be repeated,
// none where it is left out. shown is its name, names those under which a person
// gives it.
func (f *filling) values(a Argument, shown string, names ...string) []string {
	if a.Value != "" {
		return f.rounds(a, shown)
	}
	given := f.given(names...)
	asked := f.askFor(a.Input, shown, argFlag(names[0]))
	switch {
	case len(given) > 1 && !a.IsRepeated:
		f.fail(shown, "it is given more than once, and takes one value")
		return nil
	case given != nil:
		for _, v := range given {
			f.check(a.Input, shown, v)
		}
		return given
	case a.IsSecret && a.IsRequired:
		return []string{f.secret(names[0])}
	case a.IsRequired && a.Default != "":
		f.byDefault(asked, a.Default)
		return []string{f.publishers(a.Input, shown, a.Default)}
	case a.IsRequired:
		f.missing(asked)
	default:
		f.unset(asked)
	}
	return nil
}

// rounds returns the publisher's value of a with its variables filled in, once
// for each value that a person gave.
func (f *filling) rounds(a Argument, shown string) []string {
	if f.leavesOut(a) {
		return nil
	}
	n := 1
	for name := range a.Variables {
		n = max(n, len(f.ask.Values[name]))
	}
	if n > 1 && !a.IsRepeated {
		f.fail(shown, "a variable in it is given more than once, and it takes one value")
		return nil
	}
	var out []string
	for i := range n {
		if v, ok := f.fill(a.Value, a.Variables, shown, i); ok {
			out = append(out, v)
		}
	}
	return out
}

// leavesOut reports whether a can be left out and has a variable that nothing
// gives a value: it says so then.
func (f *filling) leavesOut(a Argument) bool {
	var empty []string
	for _, name := range slices.Sorted(maps.Keys(a.Variables)) {
		in := a.Variables[name]
		if in.Value == "" && in.Default == "" && !in.IsSecret && f.ask.Values[name] == nil && strings.Contains(a.Value, "{"+name+"}") {
			if a.IsRequired || in.IsRequired {
				return false
			}
			empty = append(empty, name)
		}
	}
	for _, name := range empty {
		_ = f.given(name) // so that it is among the names that can be given
		f.unset(f.askFor(a.Variables[name], name, argFlag(name)))
	}
	return len(empty) > 0
}
