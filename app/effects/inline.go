package effects

import (
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// InlineCommands are the commands in the text of a command, agent or skill that
// programs replace by their output: !`git status` and !{git status}.
// https://code.claude.com/docs/en/slash-commands,
// https://opencode.ai/docs/commands,
// https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/custom-commands.md
func InlineCommands(text string) []string {
	var out []string
	seen := map[string]bool{}
	for {
		_, rest, found := strings.Cut(text, "!")
		if !found {
			return out
		}
		text = rest
		end := -1
		switch {
		case strings.HasPrefix(rest, "`"):
			end = strings.IndexByte(rest[1:], '`')
		case strings.HasPrefix(rest, "{"):
			end = closing(rest[1:])
		}
		if end <= 0 {
			continue
		}
		if c := rest[1 : end+1]; !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
		text = rest[min(end+2, len(rest)):] // the content of a command belongs to it
	}
}

// closing is the index in s of the brace that closes one before s, or the end.
func closing(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// inline are the commands that a program runs when a person uses the text of a
// file: the text after its front matter, or the prompts in its settings.
func (t *tree) inline(program string, o spec.Obeyed, name string, doc []byte, list []setting) []Effect {
	texts := []string{string(doc)}
	if o.Format != "frontmatter" {
		texts = nil
		for _, s := range list {
			if v, ok := s.value.(string); ok && matchAll(o.Prompts, s.path) {
				texts = append(texts, v)
			}
		}
	}
	commands := InlineCommands(strings.Join(texts, "\n"))
	if len(commands) == 0 {
		return nil
	}
	e := Effect{Program: program, Class: Runs, Text: "runs " + clip(strings.Join(commands, "; ")) + " when you use " + name, File: name, whole: true, named: []string{name}}
	var in []setting
	for _, c := range commands {
		in = append(in, setting{path: []string{"command"}, arrays: []bool{false}, value: c})
	}
	return []Effect{t.finished(e, in, commands...)}
}
