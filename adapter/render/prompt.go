package render

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"aisync.dev/aisync/internal/frontmatter"
)

// The forms of commands (prompts with a name) and subagents. The neutral form
// is Claude Code's: Markdown with front matter, $ARGUMENTS for what the person
// adds to a command.
const (
	Verbatim  = "markdown"   // Claude Code
	Described = "described"  // front matter with a description only: opencode, pi, Codex prompts
	Bare      = "bare"       // no front matter: Cursor's commands
	Args      = "args"       // Qwen Code: as described, {{args}} for $ARGUMENTS
	ArgsTOML  = "args-toml"  // Gemini CLI: description and prompt in TOML, {{args}}
	Named     = "named"      // front matter with name and description: Cursor, Qwen Code, Gemini CLI
	AgentMD   = "agent-md"   // the same in NAME.agent.md: GitHub Copilot
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
	}
	return rel
}

// Prompt is the command or subagent called name in a form.
func Prompt(form, name string, text []byte) []byte {
	front, body, _, err := frontmatter.Split(text)
	f, parseErr := frontmatter.Parse(front)
	if form == Verbatim || err != nil || parseErr != nil {
		return text
	}
	description := f.Text("description")
	if n := f.Text("name"); n != "" {
		name = n
	}
	plain := strings.TrimLeft(string(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))), "\n")
	switch form {
	case Bare:
		return []byte(plain)
	case Args, ArgsTOML:
		plain = strings.ReplaceAll(plain, "$ARGUMENTS", "{{args}}")
	}
	switch form {
	case ArgsTOML:
		return tomlText(commandTOML{description, plain})
	case AgentTOML:
		return tomlText(agentTOML{name, description, plain})
	}
	var lines []string
	if form == Named || form == AgentMD {
		lines = append(lines, "name: "+quoted(name))
	}
	if description != "" {
		lines = append(lines, "description: "+quoted(description))
	}
	if form == Subagent {
		lines = append(lines, "mode: subagent")
	}
	if hint := f.Text("argument-hint"); hint != "" && form == Described {
		lines = append(lines, "argument-hint: "+quoted(hint))
	}
	if len(lines) == 0 {
		return []byte(plain)
	}
	return slices.Concat([]byte("---\n"+strings.Join(lines, "\n")+"\n---\n"), []byte(plain))
}

// Limited reports whether a subagent names its tools or model, which only
// Claude Code understands.
func Limited(text []byte) bool {
	front, _, _, _ := frontmatter.Split(text)
	f, err := frontmatter.Parse(front)
	return err == nil && (f["tools"] != nil || f["allowed-tools"] != nil || f["model"] != nil)
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
