// Package hostiletexttest makes poisoned texts for tests. In this source they are
// broken up, so that no scanner, editor or agent takes them for real. Call Samples.
package hostiletexttest

import (
	"fmt"
	"strings"
)

// Sample is one poisoned file.
type Sample struct {
	Name string // of the file
	Rule string // that finds it
	Line int    // where
	Text string
}

// Samples returns all samples. The first lines of each are harmless.
func Samples() []Sample {
	var out []Sample
	for _, part := range strings.Split(poisoned, "\n== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		rule, name, _ := strings.Cut(head, " ")
		if name == "" {
			name = "SKILL.md"
		}
		s := Sample{Name: fmt.Sprintf("%02d/%s", len(out), name), Rule: rule, Text: Expand(body) + "\n"}
		if strings.HasSuffix(name, ".md") {
			s.Line, s.Text = 6, "---\nname: tidy\ndescription: Tidies files.\n---\n\n"+s.Text
		} else {
			s.Line = 1
		}
		if i := strings.Index(s.Text, "@@"); i >= 0 {
			s.Line = 1 + strings.Count(s.Text[:i], "\n")
			s.Text = strings.Replace(s.Text, "@@", "", 1)
		}
		out = append(out, s)
	}
	return out
}

// Expand puts a text together: it removes each ~ and writes <U+…> as that
// character, <tags:…> and <selectors:…> as the invisible form of a text.
func Expand(s string) string {
	s = strings.ReplaceAll(s, "~", "")
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "<U+")
		out.WriteString(before)
		if !found {
			break
		}
		code, after, _ := strings.Cut(rest, ">")
		var r rune
		fmt.Sscanf(code, "%X", &r)
		out.WriteRune(r)
		s = after
	}
	s = hidden(out.String(), "<tags:", func(b byte) rune { return 0xe0000 + rune(b) })
	s = hidden(s, "<selectors:", func(b byte) rune {
		if b < 16 {
			return 0xfe00 + rune(b)
		}
		return 0xe0100 + rune(b) - 16
	})
	return strings.NewReplacer("<250 blanks>", strings.Repeat(" ", 250), "<90 lines>", strings.Repeat("\n", 90), "<HOME>", "~").Replace(s)
}

func hidden(s, mark string, of func(byte) rune) string {
	before, rest, found := strings.Cut(s, mark)
	if !found {
		return s
	}
	text, after, _ := strings.Cut(rest, ">")
	var out strings.Builder
	for i := range len(text) {
		out.WriteRune(of(text[i]))
	}
	return before + out.String() + after
}
