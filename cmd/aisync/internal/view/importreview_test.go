package view

import (
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/gather"
)

func TestImportReviewGroupsEqualLines(t *testing.T) {
	found := &gather.Result{
		Runtimes: []string{"claude", "cursor"},
		Servers:  []gather.Server{{}, {}},
		Files:    []gather.File{{Path: "languages/app/common/rules/a.md"}},
		Taken: []gather.Taken{
			{What: "instructions", From: "AGENTS.md", To: "languages/app/common/AGENTS.md"},
			{What: "rule", From: ".claude/rules/a.md", To: "languages/app/common/rules/a.md"},
			{What: "rule", From: ".claude/rules/b.md", To: "languages/app/common/rules/b.md"},
			{What: "rule", From: ".claude/rules/web/css.md", To: "languages/app/common/rules/web/css.md"},
			{What: "rule", From: ".cursor/rules/a.mdc", To: "languages/app/common/rules/a.md", Note: "the same as .claude/rules/a.md"},
			{What: "rule", From: ".cursor/rules/b.mdc", To: "languages/app/common/rules/b.md", Note: "the same as .claude/rules/b.md"},
			{What: "rule", From: ".github/instructions/c.instructions.md", To: "languages/app/runtimes/copilot/rules/c.md", Note: "for copilot only"},
			{What: "settings", From: ".claude/settings.json", To: "languages/app/runtimes/claude/settings.json"},
			{What: "MCP server", From: ".mcp.json, server n", To: "mcp: n"},
			{What: "MCP server", From: ".mcp.json, server m", To: "mcp: m"},
		},
		Kept: []gather.Kept{
			{Path: ".claude/settings.local.json", Why: "personal"}, {Path: ".gemini/x/a.toml", Why: "no command by its name"},
			{Path: ".gemini/x/b.toml", Why: "no command by its name"}, {Path: ".gemini/x/c.toml", Why: "no command by its name"},
		},
	}
	const want = `claude
  3 rules        .claude/rules/         → common/rules/
  settings       .claude/settings.json  → runtimes/claude/settings.json
  2 MCP servers  .mcp.json              → mcp: n, m
cursor
  rule  .cursor/rules/a.mdc  → common/rules/a.md
        the same as .claude/rules/a.md
  rule  .cursor/rules/b.mdc  → common/rules/b.md
        the same as .claude/rules/b.md
copilot
  rule  .github/instructions/c.instructions.md  → runtimes/copilot/rules/c.md
        for copilot only
several programs
  instructions  AGENTS.md  → common/AGENTS.md
→ is below .aisync/languages/app, the bundle; mcp: is in the spec
Shared
  1 instruction, 3 rules and 2 MCP servers, by claude and cursor
Stays as it is
  .claude/settings.local.json: personal
  3 in .gemini/x: no command by its name
`
	if got := NewImportReview(found, ".aisync", "app").Text(strings.Clone); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// The notes of things that differ only in the name of each are one note.
func TestImportReviewGroupsNotesOfNames(t *testing.T) {
	found := &gather.Result{}
	for _, name := range []string{"deploy", "release", "review"} {
		found.Taken = append(found.Taken, gather.Taken{What: "skill", From: ".agents/skills/" + name, To: "languages/app/common/skills/" + name, Note: "the same as .claude/skills/" + name})
	}
	got := NewImportReview(found, ".aisync", "app").Text(strings.Clone)
	if want := "several programs\n  3 skills  .agents/skills/  → common/skills/\n            the same as .claude/skills/…\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
}

func TestHangingBreaksBetweenWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"short", "short\n"},
		{"one two three", "one two\n  three\n"},
		{"  aaaaaaaaaaaaaaa bbb", "  aaaaaaaaaaaaaaa\n  bbb\n"},
		{"aaaa  → bbbbbbbb", "aaaa\n  → bbbbbbbb\n"},
	} {
		if got := hanging(test.text, "  ", 10); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestLoadChangesTextNamesProgramsTogether(t *testing.T) {
	rule := contextreport.LoadItem{Kind: loads.Rule, Name: "go", From: []string{"AGENTS.md"}}
	got := LoadChangesText([]contextreport.LoadChange{
		{Program: "amp", More: []contextreport.LoadItem{rule}}, {Program: "claude", Less: []contextreport.LoadItem{rule}}, {Program: "pi", More: []contextreport.LoadItem{rule}},
	})
	if want := "  amp and pi: also rule go (AGENTS.md)\n  claude: no longer rule go (AGENTS.md)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
