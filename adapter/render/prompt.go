package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/schema/spec"
)

// The forms of commands (prompts with a name) and subagents. The neutral form
// is Claude Code's: Markdown with front matter, $ARGUMENTS for what the person
// adds to a command.
const (
	Verbatim  = "markdown"   // Claude Code
	Described = "described"  // front matter with a description: opencode, pi, Codex prompts
	Bare      = "bare"       // no front matter: Cursor's commands
	Args      = "args"       // Qwen Code: as described, {{args}} for $ARGUMENTS
	ArgsTOML  = "args-toml"  // Gemini CLI: description and prompt in TOML, {{args}}
	Named     = "named"      // front matter with name and description: Cursor, Qwen Code, Gemini CLI
	AgentMD   = "agent-md"   // the same in NAME.agent.md: GitHub Copilot
	AgentYAML = "agent-yaml" // the same in NAME.yaml: Cline
	Subagent  = "subagent"   // front matter with description and mode: opencode
	AgentTOML = "agent-toml" // Codex: name, description, developer_instructions
)

// PromptName is the file of a command or subagent in a form; rel ends with ".md".
func PromptName(form, rel string) string {
	base := strings.TrimSuffix(rel, ".md")
	switch form {
	case ArgsTOML, AgentTOML:
		return base + ".toml"
	case AgentMD:
		return base + ".agent.md"
	case AgentYAML:
		return base + ".yaml"
	}
	return rel
}

// Prompt is a command or subagent as one program gets it, and what is lost on
// the way.
type Prompt struct {
	Text    []byte
	Only    string   // the program that alone has it, as its user's own mode; "": this program has it too
	Limit   string   // the author's words that keep it from tools
	Lost    []string // what of that the program cannot express: tools that it may use all the same, or the author's words
	Model   string   // a model that the program has no name for
	Dropped []string // other fields that the program does not have
}

// Prompt renders the command or subagent called name for a program, whose
// folder is for the kind of w. A text in the program's own words keeps them; the
// field runtimes, which no program has, is taken off.
func (w Words) Prompt(to spec.Runtime, folder *spec.PromptFolder, name string, text []byte) Prompt {
	p, ok := w.read(text)
	native := p.from == program{to.ID, folder}.words()
	switch {
	case !ok || native && folder.Form == Verbatim:
		return Prompt{Text: text}
	case p.alone && !native:
		return Prompt{Only: p.from}
	case native && slices.Contains([]string{Described, Named, AgentMD, AgentYAML, Subagent}, folder.Form):
		return Prompt{Text: p.unchanged(folder.Form, name, text)}
	}
	if p.name == "" {
		p.name = name
	}
	plain := strings.TrimLeft(string(bytes.ReplaceAll(p.body, []byte("\r\n"), []byte("\n"))), "\n")
	out := Prompt{Limit: strings.Join(p.limits, ", ")}
	lines := w.translate(&out, p, folder)
	if native {
		out.Lost, out.Dropped = nil, nil
	}
	switch folder.Form {
	case Bare:
		out.Text = []byte(plain)
		return out
	case ArgsTOML:
		out.Text = tomlText(commandTOML{p.description, strings.ReplaceAll(plain, "$ARGUMENTS", "{{args}}")})
		return out
	case AgentTOML:
		out.Text = append(tomlText(agentTOML{p.name, p.description, plain}), tomlLines(lines)...)
		return out
	case Args:
		plain = strings.ReplaceAll(plain, "$ARGUMENTS", "{{args}}")
	}
	out.Text = []byte(plain)
	if head := w.header(folder.Form, p, lines); len(head) > 0 {
		out.Text = slices.Concat([]byte("---\n"+strings.Join(head, "\n")+"\n---\n"), out.Text)
	}
	return out
}

// header is the front matter of p in a Markdown form; lines follow name and
// description.
func (w Words) header(form string, p prompt, lines []string) []string {
	var head []string
	if form == Named || form == AgentMD || form == AgentYAML || form == Verbatim && w.agents {
		head = append(head, "name: "+quoted(p.name))
	}
	if p.description != "" {
		head = append(head, "description: "+quoted(p.description))
	}
	if form == Subagent {
		head = append(head, "mode: subagent")
	}
	return append(head, lines...)
}

type commandTOML struct {
	Description string `toml:"description,omitempty"`
	Prompt      string `toml:"prompt,multiline"`
}

type agentTOML struct {
	Name         string `toml:"name"`
	Description  string `toml:"description"`
	Instructions string `toml:"developer_instructions,multiline"`
}

func tomlText(v any) []byte {
	b, _ := toml.Marshal(v) // plain texts: cannot fail
	return b
}

// tomlLines converts lines "key: value" to TOML.
func tomlLines(lines []string) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		key, value, _ := strings.Cut(l, ": ")
		fmt.Fprintf(&b, "%s = %s\n", key, quoted(strings.Trim(value, `"'`)))
	}
	return b.Bytes()
}

// FromPromptFile returns the text of a prompt file of VS Code without the fields that mean
// something else to other programs, and the names of those that it leaves out for them.
// agent: agent is what a command does anyway.
// https://code.visualstudio.com/docs/copilot/customization/prompt-files
func FromPromptFile(text []byte) (plain []byte, left []string) {
	front, body, _, err := frontmatter.Split(text)
	if err != nil {
		return text, nil
	}
	var kept strings.Builder
	for _, f := range fieldsOf(front) {
		if !slices.Contains([]string{"agent", "mode", "model", "tools"}, f.name) {
			kept.WriteString(f.lines)
		} else if name := strings.Trim(f.value, `"'`); name != "agent" {
			left = append(left, f.name)
		}
	}
	return slices.Concat([]byte("---\n"+kept.String()+"---\n"), body), left
}
