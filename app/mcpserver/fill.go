package mcpserver

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/reference"
)

// The names that a spec allows.
var (
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	braces     = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.-]*)\}`)
)

// filling puts values into what a server asks for, and collects what is wrong
// or missing, so that a person learns of all of it at once.
type filling struct {
	server string
	ask    Ask
	joined bool            // named arguments are one word, NAME=VALUE
	used   map[string]bool // names of Ask.Values
	names  []string        // that could be given
	wrong  []error
	notes  []string
	asked  []Asked
	chosen *Package // what is started; nil: a remote
	own    []string // its arguments
}

func (f *filling) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// fail notes that something is wrong with what is called name.
func (f *filling) fail(name, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if name != "" {
		err = fmt.Errorf("%s: %w", termtext.Clip(termtext.Safe(name), 100), err)
	}
	f.wrong = append(f.wrong, err)
}

// Asked is something that a server asks for.
type Asked struct {
	Name     string `json:"name"`
	Hint     string `json:"hint,omitempty"` // what it is, in words
	How      string `json:"how"`            // the flag that gives it
	Required bool   `json:"required,omitempty"`
	Secret   bool   `json:"secret,omitempty"`
}

// askFor notes that the server asks for in, which how gives.
func (f *filling) askFor(in Input, name, how string) Asked {
	if in.IsSecret {
		how = strings.Replace(how, "=VALUE", "='${VARIABLE}'", 1)
	}
	a := Asked{termtext.Safe(name), in.hint(), how, in.IsRequired, in.IsSecret}
	f.asked = append(f.asked, a)
	return a
}

// words returns the name of a with what it is.
func (a Asked) words() string {
	if a.Hint == "" {
		return a.Name
	}
	return a.Name + " (" + a.Hint + ")"
}

// missing notes that a has to be given.
func (f *filling) missing(a Asked) {
	f.wrong = append(f.wrong, advice.New(fmt.Errorf("%s asks for %s", f.server, a.words()), "give it: "+a.How))
}

// unset notes that a can be given, and is not.
func (f *filling) unset(a Asked) { f.note("not set: %s; to set it: %s", a.words(), a.How) }

// byDefault notes that the default value stands for a.
func (f *filling) byDefault(a Asked, value string) {
	f.note("%s is its default, %s; to change it: %s", a.Name, termtext.Safe(value), a.How)
}

// given returns the values that the person gave under one of these names.
func (f *filling) given(names ...string) []string {
	for _, name := range names {
		f.names = append(f.names, termtext.Safe(name))
		if values, ok := f.ask.Values[name]; ok {
			f.used[name] = true
			return values
		}
	}
	return nil
}

// unused is the error for values that the server does not ask for.
func (f *filling) unused() error {
	var out []error
	for _, name := range slices.Sorted(maps.Keys(f.ask.Values)) {
		if f.used[name] {
			continue
		}
		text := fmt.Sprintf("%s asks for no argument %q%s", f.server, termtext.Safe(name), nearest.Suggest(name, f.names))
		out = append(out, advice.New(errors.New(text), "aisync show mcp "+f.server))
	}
	return errors.Join(out...)
}

// fill returns text with the values of its variables; of several the one at
// round. It is false if one is missing.
func (f *filling) fill(text string, variables map[string]Input, shown string, round int) (string, bool) {
	f.plain(shown, text)
	var out strings.Builder
	whole, at := true, 0
	for _, m := range braces.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		in, ok := variables[name]
		if !ok {
			continue // stays as it is: https://github.com/modelcontextprotocol/registry, "Input"
		}
		before := text[at:m[0]]
		value, have := f.variable(name, in, round)
		if whole = whole && have; strings.HasSuffix(before, "$") && strings.HasPrefix(value, "${") {
			f.fail(shown, "no spec can express a $ before a variable")
		}
		out.WriteString(reference.Escape(before) + value)
		at = m[1]
	}
	return out.String() + reference.Escape(text[at:]), whole
}

// variable returns the value of a variable within a text.
func (f *filling) variable(name string, in Input, round int) (string, bool) {
	given := f.given(name)
	if in.Value != "" {
		return f.publishers(in, name, in.Value), true
	}
	in.IsRequired = in.Default == ""
	asked := f.askFor(in, name, argFlag(name))
	switch {
	case given != nil:
		v := given[min(round, len(given)-1)]
		f.check(in, name, v)
		return v, true
	case in.IsSecret:
		return f.secret(name), true
	case in.Default != "":
		f.byDefault(asked, in.Default)
		return f.publishers(in, name, in.Default), true
	}
	f.missing(asked)
	return "", false
}

// argFlag is the flag that gives the argument name.
func argFlag(name string) string { return "--arg " + shellquote.Terminal(name+"=VALUE") }

// secret returns the reference to a variable of the environment in place of a
// secret, and says that it has to be set.
func (f *filling) secret(name string) string {
	variable := variableFor(name)
	f.note("export %s where the programs start: it is a secret, and the spec only names it", variable)
	return "${" + variable + "}"
}

// variableFor is a variable's name for what a publisher calls name.
func variableFor(name string) string {
	out := strings.Map(func(r rune) rune {
		if r < 128 && envName.MatchString("_"+string(r)) {
			return r
		}
		return '_'
	}, strings.ToUpper(strings.TrimLeft(name, "-")))
	if !envName.MatchString(out) {
		out = "_" + out
	}
	return out
}
