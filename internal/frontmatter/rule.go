package frontmatter

import (
	"bytes"
	"slices"
	"strings"
)

// Kind says when a program gives a rule to its model.
type Kind int

// The kinds that rules have.
const (
	Always    Kind = iota // at the start
	Scoped                // with the first file that its patterns match
	OnRequest             // when the model asks for what its description names
	Manual                // when a person names it
)

// Rule is the metadata of a rule.
type Rule struct {
	Kind        Kind
	Title       string
	Description string   // "" if its front matter has none
	Globs       []string // files it is for; none: every file
	Runtimes    []string // runtimes it is for; none: all
}

// ReadRule reads the metadata in text's front matter, or in its first heading
// and its first line "Applies to:". The error is about the front matter, which
// then counts as text.
func ReadRule(text []byte) (Rule, error) {
	front, body, ok, err := Split(text)
	var r Rule
	r.Title, r.Globs = header(body)
	if !ok {
		if len(r.Globs) > 0 {
			r.Kind = Scoped
		}
		return r, err
	}
	f, err := Parse(front)
	if err == nil {
		err = wrongType(front, f)
	}
	r.Description, r.Runtimes = f.Text("description"), f.List("runtimes")
	for _, name := range []string{"paths", "globs", "applyTo"} {
		if globs := f.List(name); len(globs) > 0 {
			r.Globs = globs
			break
		}
	}
	always := f["alwaysApply"] == true || slices.ContainsFunc(r.Globs, everyFile)
	if always {
		r.Globs = nil
	}
	switch {
	case always:
	case len(r.Globs) > 0:
		r.Kind = Scoped
	case f["alwaysApply"] == false && r.Description != "":
		r.Kind = OnRequest
	case f["alwaysApply"] == false:
		r.Kind = Manual
	}
	return r, err
}

func everyFile(glob string) bool { return glob == "**/*" || glob == "**" || glob == "*" }

// header reads the first heading of a rule and the patterns of its first
// "Applies to:" line.
func header(text []byte) (title string, globs []string) {
	for found := false; len(text) > 0 && (title == "" || !found); {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		line = bytes.TrimRight(line, "\r \t")
		switch {
		case title == "" && bytes.HasPrefix(line, []byte("# ")):
			title = strings.TrimSpace(string(line[2:]))
		case !found && bytes.HasPrefix(line, []byte("Applies to:")):
			found, globs = true, globsOf(string(line[len("Applies to:"):]))
		}
	}
	if slices.ContainsFunc(globs, everyFile) {
		globs = nil
	}
	return title, globs
}

// globsOf returns the patterns between backquotes or, without any, those
// between commas.
func globsOf(s string) []string {
	if parts := strings.Split(s, "`"); len(parts) > 2 {
		var out []string
		for i := 1; i < len(parts); i += 2 {
			if g := strings.TrimSpace(parts[i]); g != "" && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
		return out
	}
	return Fields{"": s}.List("")
}
