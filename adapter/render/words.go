package render

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/schema/spec"
)

// Words are the fields and names that programs have in the front matter of
// their commands, or of their subagents, as the catalog lists them. Call
// CommandWords or AgentWords.
type Words struct {
	agents   bool
	programs []program
	neutral  program           // whose words are the neutral form
	tools    map[string]string // a bundle's name of a tool by each program's, in lower case
}

type program struct {
	id     string
	folder *spec.PromptFolder
}

// words is the program whose words p has.
func (p program) words() string {
	if p.folder.Words != "" {
		return p.folder.Words
	}
	return p.id
}

// CommandWords are the words of commands.
func CommandWords(runtimes []spec.Runtime) Words {
	return newWords(false, runtimes, func(s spec.Scope) *spec.PromptFolder { return s.Commands })
}

// AgentWords are the words of subagents.
func AgentWords(runtimes []spec.Runtime) Words {
	return newWords(true, runtimes, func(s spec.Scope) *spec.PromptFolder { return s.Agents })
}

func newWords(agents bool, runtimes []spec.Runtime, folder func(spec.Scope) *spec.PromptFolder) Words {
	w := Words{agents: agents, tools: map[string]string{}}
	for _, rt := range runtimes {
		f := folder(rt.User)
		if f == nil {
			f = folder(rt.Project)
		}
		if f == nil {
			continue
		}
		w.programs = append(w.programs, program{rt.ID, f})
		if f.Form == Verbatim && w.neutral.folder == nil {
			w.neutral = program{rt.ID, f}
		}
		w.learn(rt.Tools)
		if f.Limits != nil {
			w.learn(f.Limits.Tools)
			w.learn(f.Limits.Also)
		}
	}
	return w
}

func (w Words) learn(names map[string]string) {
	for tool, list := range names {
		for name := range strings.SplitSeq(list, "|") {
			if !strings.HasPrefix(tool, "mcp") {
				w.tools[strings.ToLower(name)] = tool
			}
		}
	}
}

func (w Words) program(id string) (program, bool) {
	i := slices.IndexFunc(w.programs, func(p program) bool { return p.id == id })
	if i < 0 {
		return program{}, false
	}
	return w.programs[i], true
}

// Own returns the program in whose words text is written, and whether these are
// other words than the neutral ones, which Claude Code has.
func (w Words) Own(text []byte) (id string, own bool) {
	p, ok := w.read(text)
	if !ok {
		return w.neutral.id, false
	}
	return p.from, p.from != w.neutral.id
}

// field is one field of front matter: its lines, and its value if it has one
// line.
type field struct {
	name, lines, value string
}

// fieldsOf cuts front matter into its fields. What stands before the first one
// is left out.
func fieldsOf(front []byte) []field {
	var out []field
	for line := range strings.Lines(string(front)) {
		name, value, ok := strings.Cut(line, ":")
		if ok && name != "" && !strings.ContainsAny(name[:1], " \t-#\"'") {
			out = append(out, field{strings.TrimSpace(name), line, strings.TrimSpace(value)})
		} else if n := len(out); n > 0 {
			out[n-1].lines += line
			if strings.TrimSpace(line) != "" {
				out[n-1].value = ""
			}
		}
	}
	return out
}

// parseFields parses front matter. Programs read a description or a hint such as
// "[file] [line]" to the end of its line, whatever YAML says.
func parseFields(front []byte, fields []field) (frontmatter.Fields, error) {
	f, err := frontmatter.Parse(front)
	if err == nil {
		return f, nil
	}
	var lenient bytes.Buffer
	for _, e := range fields {
		if e.value != "" && (e.name == "description" || e.name == "argument-hint") {
			e.lines = e.name + ": " + quoted(e.value) + "\n"
		}
		lenient.WriteString(e.lines)
	}
	return frontmatter.Parse(lenient.Bytes())
}

// dialect returns the program whose words the fields are: the one that alone has the
// most of the fields, and of equals the one with the most names of tools.
func (w Words) dialect(fields []field, values frontmatter.Fields) string {
	const aField = 1000 // weighs more than the names in one
	from, most, only := "", 0, values.List("runtimes")
	for _, p := range w.programs {
		knows := 0
		for _, f := range fields {
			if p.id == w.neutral.id {
				continue
			}
			if p.alone(w, f.name, values[f.name]) {
				knows += aField
			}
			knows += p.tools(w, f.name, values[f.name])
		}
		if len(only) == 1 && only[0] == p.id && knows > 0 {
			return p.words()
		}
		if knows > most {
			from, most = p.words(), knows
		}
	}
	switch {
	case from != "":
		return from
	case len(only) == 1 && !slices.ContainsFunc(fields, func(f field) bool { return w.neutral.has(f.name) }):
		return only[0]
	}
	return w.neutral.id
}

// objectOf is a YAML mapping in front matter.
func objectOf(value any) (map[string]any, bool) {
	if f, ok := value.(frontmatter.Fields); ok {
		return f, true
	}
	m, ok := value.(map[string]any)
	return m, ok
}

// alone reports whether p has a field with that value, and Claude Code does not.
func (p program) alone(w Words, name string, value any) bool {
	if !p.has(name) {
		_, object := objectOf(value)
		return object && name == "tools" && p.folder.Form == Subagent || name == "model" && p.ownModel(value)
	}
	return !w.neutral.has(name)
}

// tools counts the names in a list of tools that p has, if Claude Code has none of them.
func (p program) tools(w Words, name string, value any) (n int) {
	limits, own := w.neutral.folder.Limits, p.folder.Limits
	if limits == nil || own == nil || !p.has(name) || name != limits.Only && name != limits.Deny {
		return 0
	}
	for _, tool := range (frontmatter.Fields{name: value}).List(name) {
		switch {
		case w.neutral.namesTool(tool):
			return 0
		case p.namesTool(tool):
			n++
		}
	}
	return n
}

// ownModel reports whether a model is named as only p does: PROVIDER/MODEL in
// opencode; in Copilot as its menu has it, such as GPT-5, several of them, or by an id
// of another maker than Claude Code's.
func (p program) ownModel(value any) bool {
	name, one := value.(string)
	switch p.folder.Form {
	case Subagent:
		return strings.Contains(name, "/")
	case AgentMD:
		return !one && value != nil || strings.ContainsFunc(name, unicode.IsUpper) || strings.HasPrefix(name, "gpt-")
	}
	return false
}

// has reports whether p has a field of that name beside name and description.
func (p program) has(name string) bool {
	if p.folder == nil {
		return false
	}
	l := p.folder.Limits
	if l != nil && (name == l.Only || name == l.Deny || name == l.ReadOnly) && name != "" {
		return true
	}
	for _, own := range p.folder.Fields {
		if own == name {
			return true
		}
	}
	return false
}

// namesTool reports whether a tool of p has that name, which may have an
// argument: Bash(git *).
func (p program) namesTool(name string) bool {
	name, _, _ = strings.Cut(name, "(")
	set := setOf(name)
	for tool, names := range p.folder.Limits.Tools {
		if tool == "mcp" {
			prefix, _, _ := strings.Cut(names, "{")
			if prefix != "" && strings.HasPrefix(name, prefix) || prefix == "" && strings.Contains(name, "/") {
				return true
			}
		} else if slices.Contains(strings.Split(names, "|"), name) {
			return true
		}
	}
	for _, names := range p.folder.Limits.Also {
		if list := strings.Split(names, "|"); slices.Contains(list, name) || slices.Contains(list, set) {
			return true
		}
	}
	return false
}

// setOf is the name for each tool of the set that name has one of: SET/* of SET/TOOL.
func setOf(name string) string {
	set, _, _ := strings.Cut(name, "/")
	return set + "/*"
}
