// Package frontmatter reads the YAML between two --- lines at the start of a
// Markdown file, as in rules, skills, commands and agents of all programs. It
// writes nothing. Call Split, then Parse.
package frontmatter

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Error is a fault in front matter, with its line in the file.
type Error struct {
	Line   int
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: front matter: %s", e.Line, e.Reason) }

// Split cuts text into its front matter, without the --- lines, and the rest.
// ok is false if the text has none; all of it is the body then. An opening line
// without a closing one is an *Error, and all of the text is the body too.
func Split(text []byte) (front, body []byte, ok bool, err error) {
	first, rest := line(bytes.TrimPrefix(text, []byte("\uFEFF")))
	if string(first) != "---" {
		return nil, text, false, nil
	}
	for at := rest; len(at) > 0; {
		l, next := line(at)
		if string(l) == "---" {
			return rest[:len(rest)-len(at)], next, true, nil
		}
		at = next
	}
	return nil, text, false, &Error{1, "starts here and does not end; close it with a line ---"}
}

// line is the first line of text, without its end and trailing blanks, and what
// follows.
func line(text []byte) (first, rest []byte) {
	first, rest, _ = bytes.Cut(text, []byte("\n"))
	return bytes.TrimRight(first, "\r \t"), rest
}

// Fields is front matter by name.
type Fields map[string]any

// Parse parses front matter as Split returns it. Lines of an *Error count from
// the start of the file. Patterns that start with a star need no quotes, as in
// Cursor, although YAML reads them differently.
func Parse(front []byte) (Fields, error) {
	if len(bytes.TrimSpace(front)) == 0 {
		return nil, nil // most rules have none, and a parser takes a thousand times longer
	}
	var f Fields
	err := yaml.Unmarshal(bareStar.ReplaceAllFunc(front, quoteStar), &f)
	if err == nil {
		return f, nil
	}
	reason := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
	reason, _, _ = strings.Cut(reason, "\n")
	wrong := &Error{1, reason}
	if where, rest, ok := strings.Cut(reason, ": "); ok {
		if n, err := strconv.Atoi(strings.TrimPrefix(where, "line ")); err == nil {
			last := bytes.Count(front, []byte("\n")) + 1 // YAML counts more line ends than editors
			wrong = &Error{min(n+1, last), rest}
		}
	}
	return nil, wrong
}

var bareStar = regexp.MustCompile(`(?m)^(?:globs|paths|applyTo):[ \t]*\*.*$`)

func quoteStar(line []byte) []byte {
	name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r \t"), []byte(":"))
	return fmt.Appendf(nil, "%s: '%s'", name, bytes.ReplaceAll(bytes.TrimSpace(value), []byte("'"), []byte("''")))
}

// Text is a field as text, "" if it is not one.
func (f Fields) Text(name string) string {
	s, _ := f[name].(string)
	return strings.TrimSpace(s)
}

// List is a field as a list: a list of names, or one comma-separated text.
func (f Fields) List(name string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	switch v := f[name].(type) {
	case string:
		for _, s := range splitOutsideBraces(v) {
			add(s)
		}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				add(s)
			}
		}
	}
	return out
}

// splitOutsideBraces splits at commas, but not within {a,b} of a pattern.
func splitOutsideBraces(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, r := range s {
		switch {
		case r == '{':
			depth++
		case r == '}' && depth > 0:
			depth--
		case r == ',' && depth == 0:
			out, start = append(out, s[start:i]), i+1
		}
	}
	return append(out, s[start:])
}
