package reference

import (
	"fmt"
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"plain $HOME ${} $":     `"plain $HOME ${} $"`,
		"${TOKEN}":              "<TOKEN>",
		"Bearer ${TOKEN}":       `"Bearer "<TOKEN>`,
		"${A}-${B_2}!":          `<A>"-"<B_2>"!"`,
		"$${A} ${A}":            `"${A} "<A>`,
		"${A:-b c}":             "<A|b c>",
		"${input:key} ${env:X}": `"${input:key} ${env:X}"`,
		"${1A}":                 `"${1A}"`,
		"${workspaceFolder}/x":  `<workspaceFolder>"/x"`,
	} {
		var got, source strings.Builder
		for _, p := range Split(text) {
			source.WriteString(p.Source)
			switch {
			case p.Variable == "":
				fmt.Fprintf(&got, "%q", p.Text)
			case p.Default != "":
				fmt.Fprintf(&got, "<%s|%s>", p.Variable, p.Default)
			default:
				fmt.Fprintf(&got, "<%s>", p.Variable)
			}
		}
		if got.String() != want || source.String() != text {
			t.Errorf("Split(%q) is %s of %q, want %s", text, got.String(), source.String(), want)
		}
	}
}

func TestEscapedTextIsLiteral(t *testing.T) {
	for _, text := range []string{"", "x", "${A}", "$${A}", "a${A:-b}c${", "$${", "$$$${A}", "${workspaceFolder}"} {
		var got string
		for _, p := range Split(Escape(text)) {
			if p.Variable != "" {
				t.Errorf("Escape(%q) is %q, which refers to %s", text, Escape(text), p.Variable)
			}
			got += p.Text
		}
		if got != text {
			t.Errorf("Escape(%q) stands for %q", text, got)
		}
	}
}

func TestVariableIsAWholeText(t *testing.T) {
	for text, want := range map[string]string{"${A}": "A", "${A} ": "", "A": "", "$${A}": "", "${A:-}": "", "${A:-b}": "", "${A}${B}": "", "${workspaceFolder}": ""} {
		if got := Variable(text); got != want {
			t.Errorf("Variable(%q) is %q, want %q", text, got, want)
		}
	}
}
