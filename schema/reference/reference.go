// Package reference reads the references to variables in texts of a spec, such as
// "Bearer ${TOKEN}". It is pure. Call Split.
package reference

import (
	"regexp"
	"strings"
)

// Part is a piece of a text with references: literal text, or a variable.
type Part struct {
	Text     string // literal; "" for a variable
	Variable string // of the environment, or Workspace
	Default  string // its value where the variable is not set; "" for none
	Source   string // as it is written in the spec
}

// Workspace is the reference to the folder of the project in which a program
// runs. It is no variable of the environment.
const Workspace = "workspaceFolder"

// $${ is a literal ${, ${NAME} a variable, ${NAME:-TEXT} one with a default.
var referenceText = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}`)

// Split splits text into literal text and variables. All that is no
// reference is literal, such as ${input:name}.
func Split(text string) []Part {
	var parts []Part
	literal := func(text, source string) {
		if n := len(parts); n > 0 && parts[n-1].Variable == "" {
			parts[n-1].Text, parts[n-1].Source = parts[n-1].Text+text, parts[n-1].Source+source
		} else if text != "" {
			parts = append(parts, Part{Text: text, Source: source})
		}
	}
	for text != "" {
		at := referenceText.FindStringSubmatchIndex(text)
		if at == nil {
			literal(text, text)
			break
		}
		literal(text[:at[0]], text[:at[0]])
		match := text[at[0]:at[1]]
		switch {
		case match == "$${":
			literal("${", match)
		case at[4] >= 0:
			parts = append(parts, Part{Variable: text[at[2]:at[3]], Default: text[at[4]:at[5]], Source: match})
		default:
			parts = append(parts, Part{Variable: text[at[2]:at[3]], Source: match})
		}
		text = text[at[1]:]
	}
	return parts
}

// Escape returns the text of a spec that stands for literal text.
func Escape(literal string) string {
	return referenceText.ReplaceAllStringFunc(literal, func(m string) string {
		if m == "$${" {
			return "$$${"
		}
		return "$" + m
	})
}

// Variable returns the variable of the environment that is all of text; "" if
// text is anything else.
func Variable(text string) string {
	parts := Split(text)
	if len(parts) != 1 || parts[0].Default != "" || strings.Contains(text, ":-") || parts[0].Variable == Workspace {
		return ""
	}
	return parts[0].Variable
}
