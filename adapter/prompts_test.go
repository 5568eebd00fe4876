package adapter

import (
	"strings"
	"testing"
)

// A limit that a program cannot express is a warning with the file, the
// author's words and what to type; so is one in the words of another program.
func TestLostLimitIsAWarning(t *testing.T) {
	const archive = `
-- languages/a/common/agents/review.md --
---
description: Reviews
mode: subagent
model: anthropic/claude-haiku-4-5
tools:
  write: false
---
You review.
-- languages/a/common/agents/plan.md --
---
description: Plans
mode: primary
---
You plan.
-- languages/a/common/agents/free.md --
---
name: free
description: Does it
---
You do it.
`
	d, err := neutralProject(t, archive, "claude", "codex", "cursor", "opencode")
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"note: languages/a/common/agents/review.md of s//a asks for the model anthropic/claude-haiku-4-5, which has no name with codex, cursor: it gets the model of the session there",
		"note: languages/a/common/agents/plan.md of s//a is a mode of opencode and no subagent, so claude or codex or cursor does not get it",
	} {
		if !strings.Contains(show(d), says) {
			t.Errorf("does not say %q:\n%s", says, show(d))
		}
	}
	if strings.Contains(show(d), "warning:") {
		t.Errorf("each program can hold a subagent that must not edit:\n%s", show(d))
	}
	tree := written(t, d.Declarations)
	for path, want := range map[string]string{
		".claude/agents/review.md":   "name: \"review\"\ndescription: \"Reviews\"\nmodel: \"haiku\"\ndisallowedTools: [\"Edit\"",
		".codex/agents/review.toml":  "sandbox_mode = \"read-only\"",
		".cursor/agents/review.md":   "readonly: true",
		".opencode/agents/review.md": "tools:\n  write: false\n",
		".opencode/agents/plan.md":   "mode: primary",
	} {
		if !strings.Contains(tree[path], want) {
			t.Errorf("%s:\n%s\nwant %s", path, tree[path], want)
		}
	}
	if tree[".claude/agents/plan.md"] != "" || tree[".claude/agents/free.md"] != "---\nname: free\ndescription: Does it\n---\nYou do it.\n" {
		t.Errorf("wrote %v", tree)
	}

	const all = "---\nname: a\ndescription: d\ntools: WebFetch\n---\nx\n"
	d, err = neutralProject(t, "-- languages/a/common/agents/a.md --\n"+all, "codex")
	if want := `warning: codex cannot hold languages/a/common/agents/a.md of s//a to "tools: WebFetch": it may use shell, read, search, agent, tools of MCP servers there; take it out of the bundle`; err != nil || !strings.Contains(show(d), want) {
		t.Errorf("%v\n%s\nwant %s", err, show(d), want)
	}
}

// A bundle's own version for a program comes first there.
func TestOwnVersionOfASubagentComesFirst(t *testing.T) {
	d, err := neutralProject(t, `
-- languages/a/common/agents/critic.md --
---
name: critic
description: Reviews
tools: Read
---
x
-- languages/a/runtimes/cursor/agents/critic.md --
---
name: critic
readonly: true
---
For Cursor.
-- languages/a/runtimes/codex/agents/critic.toml --
name = "critic"
developer_instructions = "For Codex."
`, "claude", "codex", "cursor")
	if err != nil {
		t.Fatal(err)
	}
	if tree := written(t, d.Declarations); !strings.Contains(tree[".cursor/agents/critic.md"], "For Cursor.") || !strings.Contains(tree[".codex/agents/critic.toml"], "For Codex.") || strings.Contains(show(d), "warning:") {
		t.Errorf("wrote %v\n%s", tree, show(d))
	}
}

// The plan says once what several files of a bundle lose alike.
func TestSharedLossIsOneNote(t *testing.T) {
	var archive strings.Builder
	for name, tools := range map[string]string{"a": "Read, Edit", "b": "Read", "c": "Read", "d": "Grep, Read", "e": "Read"} {
		archive.WriteString("-- languages/a/common/agents/" + name + ".md --\n---\nname: " + name + "\ndescription: Does it\nmodel: some-5\ntools: " + tools + "\n---\nYou do it.\n")
	}
	d, err := neutralProject(t, archive.String(), "claude", "codex")
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"note: languages/a/common/agents/a.md, languages/a/common/agents/b.md and 3 more of s//a ask for the model some-5, which has no name with codex: they get the model of the session there",
		"warning: codex cannot hold languages/a/common/agents/a.md, languages/a/common/agents/b.md and 2 more of s//a to their tools: they may use shell, search, fetch, agent, tools of MCP servers there; to leave them out, write runtimes: [claude] into their front matter",
		`warning: codex cannot hold languages/a/common/agents/d.md of s//a to "tools: Grep, Read": it may use shell, fetch, agent, tools of MCP servers there; to leave them out, write runtimes: [claude] into its front matter`,
	} {
		if strings.Count(show(d), says) != 1 {
			t.Errorf("does not say %q once:\n%s", says, show(d))
		}
	}
	if n := strings.Count(show(d), "note:") + strings.Count(show(d), "warning:"); n != 3 {
		t.Errorf("%d notes:\n%s", n, show(d))
	}
}

// Published agents of Copilot have VS Code's names of tools, in sets or from before
// there were sets, often with some that no program has.
func TestAgentsInWordsOfVSCode(t *testing.T) {
	agents := map[string]string{
		"sets":    "model: 'GPT-5'\ntools: ['search/codebase', 'search/usages', 'read/problems', 'read/readFile', 'edit/editFiles', 'execute/runInTerminal', 'execute/getTerminalOutput', 'web/fetch', 'vscode/memory']",
		"old":     "model: GPT-5\ntools: ['codebase', 'edit/editFiles', 'search', 'problems']",
		"unknown": "model: GPT-5\ntools: ['codebase', 'githubRepo', 'create_issue', 'update_issue', 'list_issues']",
		"model":   "model: GPT-4.1",
		"models":  "model: ['gpt-5', 'Claude Sonnet 4.5']",
		"server":  "tools: ['search', 'github/list_issues']",
	}
	var archive strings.Builder
	for name, front := range agents {
		archive.WriteString("-- languages/a/common/agents/" + name + ".md --\n---\nname: " + name + "\ndescription: Does it\n" + front + "\n---\nYou do it.\n")
	}
	d, err := neutralProject(t, archive.String(), "claude", "copilot", "opencode", "qwen")
	if err != nil {
		t.Fatal(err)
	}
	tree := written(t, d.Declarations)
	for path, want := range map[string]string{
		".claude/agents/sets.md":    `tools: ["Edit","Write","MultiEdit","NotebookEdit","Bash","Read","NotebookRead","Grep","Glob","LS","WebFetch","WebSearch"]`,
		".claude/agents/old.md":     `tools: ["Edit","Write","MultiEdit","NotebookEdit","Read","NotebookRead","Grep","Glob","LS"]`,
		".claude/agents/unknown.md": `tools: ["Grep","Glob","LS","WebFetch","WebSearch"]`,
		".claude/agents/server.md":  `tools: ["Grep","Glob","LS","mcp__github__list_issues"]`,
	} {
		if got := tree[path]; !strings.Contains(got, want+"\n") || strings.Contains(got, "GPT") {
			t.Errorf("%s:\n%s\nwant %s, and no model", path, got, want)
		}
	}
	for _, name := range []string{"model", "models"} {
		if got := tree[".claude/agents/"+name+".md"]; strings.Contains(got, "model:") {
			t.Errorf("Claude Code is told a model of Copilot:\n%s", got)
		}
	}
	for name, front := range agents {
		if got := tree[".github/agents/"+name+".agent.md"]; !strings.Contains(got, front+"\n") {
			t.Errorf("Copilot's %s is in other words:\n%s\nwant %s", name, got, front)
		}
		if got := tree[".opencode/agents/"+name+".md"]; strings.Contains(got, `"grep": deny`) {
			t.Errorf("opencode's %s may not search:\n%s", name, got)
		}
	}
}

// A prompt of VS Code names its agent, model and tools in words that other programs
// have for something else.
func TestPromptsOfVSCode(t *testing.T) {
	const archive = `
-- prompts/ship.prompt.md --
---
description: Ships it
agent: agent
---
Ship it.
-- prompts/coach.prompt.md --
---
description: Coaches
agent: 'DT Coach'
model: GPT-4.1
tools: ['codebase', 'edit/editFiles']
argument-hint: "[goal]"
---
Coach.
`
	d, err := projectOf(t, ".", archive, "claude", "opencode")
	if err != nil {
		t.Fatal(err)
	}
	tree := written(t, d.Declarations)
	for path, want := range map[string]string{
		".claude/commands/ship.md":    "---\ndescription: Ships it\n---\nShip it.\n",
		".opencode/commands/ship.md":  "---\ndescription: \"Ships it\"\n---\nShip it.\n",
		".claude/commands/coach.md":   "---\ndescription: Coaches\nargument-hint: \"[goal]\"\n---\nCoach.\n",
		".opencode/commands/coach.md": "---\ndescription: \"Coaches\"\n---\nCoach.\n",
	} {
		if tree[path] != want {
			t.Errorf("%s:\n%s\nwant\n%s", path, tree[path], want)
		}
	}
	for _, says := range []string{"claude does not have, so they are left out there: agent, model, tools ", "opencode does not have, so they are left out there: argument-hint, agent, model, tools "} {
		if says = "coach.prompt.md of s//. has fields that " + says; !strings.Contains(show(d), says) {
			t.Errorf("does not say %q:\n%s", says, show(d))
		}
	}
	if strings.Contains(show(d), "ship.prompt.md") {
		t.Errorf("says something of what loses nothing:\n%s", show(d))
	}
}
