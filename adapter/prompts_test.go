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
