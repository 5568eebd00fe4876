// Package frontmatter reads what a Markdown file says about itself in YAML
// between two --- lines at its start, as rules, skills, commands and agents of
// all programs do. It writes nothing. Start reading at Split, then Parse.
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

// Error says what is wrong with front matter, and in which line of the file.
type Error struct {
	Line   int
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: front matter: %s", e.Line, e.Reason) }

// Split cuts text into its front matter, without the --- lines, and the rest.
// ok is false where the text has none; it is then all body. An opening line
// without a closing one is an *Error, and the text all body too.
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
	return nil, text, false, &Error{1, "it starts here and does not end; close it with a line ---"}
}

// line is the first line of text, without its end and blanks before that, and
// what follows.
func line(text []byte) (first, rest []byte) {
	first, rest, _ = bytes.Cut(text, []byte("\n"))
	return bytes.TrimRight(first, "\r \t"), rest
}

// Fields is front matter by name.
type Fields map[string]any

// Parse reads front matter as Split returns it. Lines of an *Error count from
// the start of the file. Patterns that start with a star need no quotes: it is
// how Cursor writes them, although to YAML they are something else.
func Parse(front []byte) (Fields, error) {
	if len(bytes.TrimSpace(front)) == 0 {
		return nil, nil // of most rules: a parser is a thousand times larger
	}
	var f Fields
	err := yaml.Unmarshal(bareStar.ReplaceAllFunc(front, quoteStar), &f)
	if err == nil {
		return f, nil
	}
	reason, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
	wrong := &Error{1, reason}
	if where, rest, ok := strings.Cut(reason, ": "); ok {
		if n, err := strconv.Atoi(strings.TrimPrefix(where, "line ")); err == nil {
			last := bytes.Count(front, []byte("\n")) + 1 // YAML ends lines where no editor does
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

// Text is a field as text, "" where it is none.
func (f Fields) Text(name string) string {
	s, _ := f[name].(string)
	return strings.TrimSpace(s)
}

// List is a field as a list: of names, or one text with commas between them.
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
