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

// globFields are the fields that limit a rule to files: those of Claude Code,
// Cursor and GitHub Copilot. The first that has patterns counts.
var globFields = []string{"paths", "globs", "applyTo"}

// ReadRule reads the metadata in text's front matter, and the title in its first
// heading. A line "Applies to:" below it is prose; see ScopeByProse. The error
// is about the front matter, which then counts as text.
func ReadRule(text []byte) (Rule, error) {
	r, _, _, err := SplitRule(text)
	return r, err
}

// SplitRule is ReadRule with the fields of the front matter and what follows it.
func SplitRule(text []byte) (Rule, Fields, []byte, error) {
	front, body, ok, err := Split(text)
	r := Rule{Title: title(body)}
	if !ok {
		return r, nil, body, err
	}
	f, err := Parse(front)
	if err == nil {
		err = wrongType(front, f)
	}
	r.Description, r.Runtimes = f.Text("description"), f.List("runtimes")
	for _, name := range globFields {
		if globs := f.List(name); len(globs) > 0 {
			r.Globs = globs
			break
		}
	}
	always := f["alwaysApply"] == true || slices.ContainsFunc(r.Globs, EveryFile)
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
	return r, f, body, err
}

// EveryFile reports whether glob matches each file of a project.
func EveryFile(glob string) bool { return glob == "**/*" || glob == "**" || glob == "*" }

// title is the first heading of text.
func title(text []byte) string {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("# ")); ok {
			if t := strings.TrimSpace(string(rest)); t != "" {
				return t
			}
		}
	}
	return ""
}
