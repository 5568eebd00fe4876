// Package render converts rules, commands, subagents, hooks, permissions and
// MCP servers into the forms that agent programs read. Every function is pure
// and returns bytes or JSON; the caller decides where they go. Start reading at
// RuleFile; shape.go and the constants beside it list the forms.
package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/frontmatter"
)

// The forms of a rule file. Plain is the text as it stands in its bundle.
const (
	Plain        = ""
	Paths        = "paths"        // Claude Code, Qwen Code: front matter with a list of patterns
	MDC          = "mdc"          // Cursor: description, patterns with commas between them, alwaysApply
	Instructions = "instructions" // GitHub Copilot: applyTo, patterns with commas between them
)

// RuleName is the name of a rule's file in a form; rel ends with ".md".
func RuleName(form, rel string) string {
	base := strings.TrimSuffix(rel, ".md")
	switch form {
	case MDC:
		return base + ".mdc"
	case Instructions:
		return base + ".instructions.md"
	}
	return rel
}

// Patterns of the form Instructions that match no file. Copilot CLI loads a file
// without applyTo at the start; of one with a pattern it tells the model the
// pattern, the path and the description at the start (measured with 1.0.102). VS
// Code loads neither by itself.
const (
	CopilotOnRequest = "on-request"
	CopilotManual    = "only-when-named"
)

// RuleFile is a rule in a form. A text that the program takes as the author
// meant it stays as it is, each byte of it; in others the front matter is
// replaced, or added, and the body keeps its bytes. The form Paths has no rules
// that wait to be asked for: those are the caller's to place.
func RuleFile(form string, text []byte) []byte {
	if form == Plain {
		return text
	}
	r, f, body, err := frontmatter.SplitRule(text)
	if form == Paths && err != nil || fits(form, r, f) {
		return text
	}
	about := cmp.Or(r.Description, r.Title)
	if form == Paths || r.Kind == frontmatter.OnRequest || r.Kind == frontmatter.Manual {
		about = r.Description
	}
	var lines []string
	if about != "" || form == MDC {
		lines = append(lines, "description: "+quoted(about))
	}
	switch form {
	case MDC:
		lines = append(lines, strings.TrimSpace("globs: "+strings.Join(r.Globs, ",")), "alwaysApply: "+strconv.FormatBool(r.Kind == frontmatter.Always))
	case Instructions:
		patterns := map[frontmatter.Kind]string{
			frontmatter.Always: "**", frontmatter.Scoped: strings.Join(r.Globs, ","), frontmatter.OnRequest: CopilotOnRequest, frontmatter.Manual: CopilotManual,
		}
		lines = append(lines, "applyTo: "+quoted(patterns[r.Kind]))
	case Paths:
		lines = append(lines, "paths:")
		for _, g := range r.Globs {
			lines = append(lines, "  - "+quoted(g))
		}
	}
	end := "\n"
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
		end = "\r\n"
	}
	return slices.Concat([]byte("---"+end+strings.Join(lines, end)+end+"---"+end), body)
}

// fits reports whether the program of a form takes a rule with the front matter
// f as its author meant it.
func fits(form string, r frontmatter.Rule, f frontmatter.Fields) bool {
	switch form {
	case Paths:
		return r.Kind != frontmatter.Scoped || len(f.List("paths")) > 0
	case MDC:
		globs, _ := f["globs"].(string) // Cursor has a text with commas, no list
		return f["alwaysApply"] == true || strings.TrimSpace(globs) != "" || r.Kind == frontmatter.OnRequest || r.Kind == frontmatter.Manual
	case Instructions:
		return len(f.List("applyTo")) > 0
	}
	return true
}

// RuleText is a rule as a part of a longer text, without its front matter, but
// with the paths that it is limited to if the rule does not name them.
func RuleText(text []byte) string {
	r, _, body, _ := frontmatter.SplitRule(text)
	body = bytes.TrimSpace(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")))
	if said, _ := frontmatter.AppliesTo(body); len(r.Globs) == 0 || len(said) > 0 {
		return string(body)
	}
	line := "Applies to: `" + strings.Join(r.Globs, "`, `") + "`"
	if title, rest, ok := bytes.Cut(body, []byte("\n")); ok && bytes.HasPrefix(title, []byte("# ")) {
		return string(title) + "\n\n" + line + "\n" + string(rest)
	}
	return line + "\n\n" + string(body)
}

// quoted is s in quotes, as JSON and YAML write it.
func quoted(s string) string { return string(JSON(s)) }

// JSON encodes v, which must be plain data, without the escapes that only HTML
// needs.
func JSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // plain data: cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
