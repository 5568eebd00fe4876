package mcpserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/reference"
)

// hint describes an input in a few words.
func (in Input) hint() string {
	var parts []string
	for _, p := range []string{in.Description, map[string]string{"number": "a number", "boolean": "true or false", "filepath": "a path"}[in.Format]} {
		if p = strings.TrimSpace(termtext.Safe(termtext.OneLine(p))); p != "" {
			parts = append(parts, termtext.Clip(p, 160))
		}
	}
	if len(in.Choices) > 0 {
		parts = append(parts, "one of "+termtext.Clip(termtext.Safe(strings.Join(in.Choices, ", ")), 200))
	}
	for _, p := range [][2]string{{"default", in.Default}, {"such as", in.Placeholder}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+termtext.Clip(termtext.Safe(p[1]), 100))
		}
	}
	return strings.Join(parts, "; ")
}

// check refuses a value that a person gave and the server would not take. What a
// reference stands for is not known here.
func (f *filling) check(in Input, name, value string) {
	f.plain(name, value)
	if strings.Contains(value, "${") {
		return
	}
	switch _, notNumber := strconv.ParseFloat(value, 64); {
	case in.IsSecret:
		f.secretTyped(name, "--arg "+shellquote.Terminal(name)+"='${VARIABLE}'")
	case len(in.Choices) > 0 && !slices.Contains(in.Choices, value):
		f.fail(name, "%q is none of %s", termtext.Safe(value), termtext.Clip(termtext.Safe(strings.Join(in.Choices, ", ")), 300))
	case in.Format == "number" && notNumber != nil:
		f.fail(name, "%q is no number", termtext.Safe(value))
	case in.Format == "boolean" && value != "true" && value != "false":
		f.fail(name, "%q is neither true nor false", termtext.Safe(value))
	}
}

// secretTyped refuses the value of a secret; how names a variable in its place.
func (f *filling) secretTyped(name, how string) {
	err := fmt.Errorf("%s is a secret, and a spec is made for git", termtext.Safe(name))
	f.wrong = append(f.wrong, advice.New(err, "name a variable that has it: "+how))
}

// publishers returns a value that the publisher set, in the form of a spec.
func (f *filling) publishers(in Input, name, value string) string {
	in.IsSecret = false // it is published
	f.plain(name, value)
	if value = reference.Escape(value); !strings.Contains(value, "${") {
		f.check(in, name, value)
	}
	return value
}

// plain refuses a text with signs that a person does not see: a line break that
// begins a second line, or one that reverses what is shown.
func (f *filling) plain(name, text string) {
	if strings.ContainsFunc(text, termtext.Hidden) || strings.Contains(text, "\t") {
		f.fail(name, "its value holds a line break or another sign that cannot be seen")
	}
	if len(text) > 4096 {
		f.fail(name, "its value has more than 4096 bytes")
	}
}
