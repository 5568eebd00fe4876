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

// RuleFile is a rule in a form. Front matter that the program already
// understands stays unchanged.
func RuleFile(form string, text []byte) []byte {
	r, err := frontmatter.ReadRule(text)
	front, body, _, _ := frontmatter.Split(text)
	f, _ := frontmatter.Parse(front)
	var lines []string
	switch form {
	case MDC:
		if _, isText := f["globs"].(string); isText || f["alwaysApply"] != nil {
			return text
		}
		lines = []string{"description: " + quoted(cmp.Or(r.Description, r.Title)), "globs: " + strings.Join(r.Globs, ","), "alwaysApply: true"}
		if len(r.Globs) > 0 {
			lines[2] = "alwaysApply: false"
		} else {
			lines[1] = "globs:"
		}
	case Instructions:
		if f["applyTo"] != nil {
			return text
		}
		patterns := "**"
		if len(r.Globs) > 0 {
			patterns = strings.Join(r.Globs, ",")
		}
		if d := cmp.Or(r.Description, r.Title); d != "" {
			lines = append(lines, "description: "+quoted(d))
		}
		lines = append(lines, "applyTo: "+quoted(patterns))
	case Paths:
		if err != nil || f["paths"] != nil || len(r.Globs) == 0 {
			return text
		}
		if r.Description != "" {
			lines = append(lines, "description: "+quoted(r.Description))
		}
		lines = append(lines, "paths:")
		for _, g := range r.Globs {
			lines = append(lines, "  - "+quoted(g))
		}
	default:
		return text
	}
	return slices.Concat([]byte("---\n"+strings.Join(lines, "\n")+"\n---\n"), body)
}

// RuleText is a rule as a part of a longer text, without its front matter, but
// with the paths that it is limited to if the rule does not name them.
func RuleText(text []byte) string {
	r, _ := frontmatter.ReadRule(text)
	_, body, _, _ := frontmatter.Split(text)
	body = bytes.TrimSpace(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")))
	if said, _ := frontmatter.ReadRule(body); len(r.Globs) == 0 || len(said.Globs) > 0 {
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
