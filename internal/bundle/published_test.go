package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/schema/spec"
)

// published writes the files of text and opens them as a source.
func published(t *testing.T, text string, pick *spec.Pick) *Tree {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := new(Sources).Open(context.Background(), spec.Source{Name: "src", URL: dir, Pick: pick})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func skillNames(p *Part) []string {
	var out []string
	for _, s := range p.Neutral.Skills {
		out = append(out, s.Name)
	}
	return out
}

const skillText = "---\nname: x\ndescription: y\n---\nText\n"

func TestTopFindsPublishedSkills(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  []string
	}{
		"in skills":                  {[]string{"skills/pdf/SKILL.md", "skills/docx/SKILL.md", "README.md"}, []string{"docx", "pdf"}},
		"at the top":                 {[]string{"pdf/SKILL.md"}, []string{"pdf"}},
		"deeper in skills":           {[]string{"skills/office/pdf/SKILL.md", "skills/a/b/c/docx/SKILL.md"}, []string{"docx", "pdf"}},
		"in a program's folder":      {[]string{".claude/skills/pdf/SKILL.md", ".git/x/SKILL.md"}, []string{"pdf"}},
		"anywhere":                   {[]string{"packages/a/b/pdf/SKILL.md", "node_modules/x/SKILL.md"}, []string{"pdf"}},
		"none within a skill":        {[]string{"skills/pdf/SKILL.md", "skills/pdf/inner/SKILL.md"}, []string{"pdf"}},
		"the source is one":          {[]string{"SKILL.md", "other/SKILL.md"}, []string{"x"}},
		"not beside languages":       {[]string{"languages/go/common/skills/pdf/SKILL.md", "packages/a/docx/SKILL.md"}, nil},
		"where the manifest says":    {[]string{"more/pdf/SKILL.md", "skills/docx/SKILL.md"}, []string{"docx", "pdf"}},
		"not those of a marketplace": {[]string{"plugins/a/skills/pdf/SKILL.md", ".claude-plugin/marketplace.json"}, nil},
	} {
		var text strings.Builder
		for _, f := range c.files {
			body := skillText
			if strings.HasSuffix(f, ".json") {
				body = `{"plugins": [{"name": "a", "source": "./plugins/a"}]}` + "\n"
			}
			text.WriteString("-- " + f + " --\n" + body)
		}
		if name == "where the manifest says" {
			text.WriteString("-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"skills\": [\"./more/\"]}\n")
		}
		top, err := published(t, text.String(), nil).Top()
		if err != nil || !slices.Equal(skillNames(top), c.want) {
			t.Errorf("%s: %v, %v; want %v", name, skillNames(top), err, c.want)
		}
	}
}

const many = `
-- skills/pdf/SKILL.md --
---
name: pdf
description: d
---
-- skills/docx/SKILL.md --
---
name: docx
description: d
---
-- skills/for-codex/SKILL.md --
---
name: for-codex
description: d
metadata:
  runtimes: [codex]
---
-- agents/reviewer.md --
Review.
-- commands/ship.md --
Ship.
-- prompts/plan.prompt.md --
Plan.
-- agents/tester.agent.md --
Test.
-- agent-rules/a.md --
# A
-- instructions/go.instructions.md --
---
applyTo: "**/*.go"
---
# Go
-- permissions.json --
{"deny": ["shell(rm *)"]}
-- .mcp.json --
{"mcpServers": {"notes": {"command": "notes"}, "docs": {"url": "https://example.org/mcp"}}}
-- hooks/hooks.json --
{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}/hooks/run\" 'it'"}]}], "Stop": [{"hooks": [{"type": "command", "command": "date"}]}]}}
-- hooks/run --
#!/bin/sh
cat "$CLAUDE_PLUGIN_ROOT/data/text.txt"
-- data/text.txt --
hello
-- docs/long.md --
Not for hooks.
`

func TestPickTakesWhatItNames(t *testing.T) {
	for name, c := range map[string]struct {
		pick                             *spec.Pick
		skills, commands, agents, others []string
	}{
		"nothing named": {nil, []string{"docx", "for-codex", "pdf"}, []string{"plan.md", "ship.md"}, []string{"reviewer.md", "tester.md"},
			[]string{"rule", "rule", "hook SessionStart", "hook Stop", "server docs", "server notes", "permission"}},
		"skills":        {&spec.Pick{Skills: []string{"pdf"}}, []string{"pdf"}, nil, nil, nil},
		"a glob":        {&spec.Pick{Skills: []string{"*d*"}}, []string{"docx", "for-codex", "pdf"}, nil, nil, nil},
		"a folder":      {&spec.Pick{Skills: []string{"skills/docx"}}, []string{"docx"}, nil, nil, nil},
		"several kinds": {&spec.Pick{Agents: []string{"rev*"}, Commands: []string{"ship"}, Hooks: []string{"Stop"}, Servers: []string{"docs"}}, nil, []string{"ship.md"}, []string{"reviewer.md"}, []string{"hook Stop", "server docs"}},
		"runtimes":      {&spec.Pick{Skills: []string{"*"}, Runtimes: []string{"claude"}}, []string{"docx", "pdf"}, nil, nil, nil},
	} {
		tree := published(t, many, c.pick)
		top, err := tree.Top()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		core, err := tree.Core()
		if err != nil {
			t.Fatal(err)
		}
		var commands, agents, others []string
		for _, f := range top.Neutral.Commands {
			commands = append(commands, f.Rel)
		}
		for _, f := range top.Neutral.Agents {
			agents = append(agents, f.Rel)
		}
		for range core.Rules {
			others = append(others, "rule")
		}
		if n := len(core.Rules); n > 0 && (core.Rules[n-1].Rel != "go.md" || !slices.Equal(core.Rules[n-1].About.Globs, []string{"**/*.go"})) {
			t.Errorf("%s: instructions became %+v", name, core.Rules[n-1].About)
		}
		for _, h := range top.Neutral.Hooks {
			others = append(others, "hook "+h.Event)
		}
		for _, s := range top.Neutral.Servers {
			others = append(others, "server "+s.Name)
		}
		for range top.Neutral.Permissions {
			others = append(others, "permission")
		}
		slices.Sort(commands)
		if !slices.Equal(skillNames(top), c.skills) || !slices.Equal(commands, c.commands) || !slices.Equal(agents, c.agents) || !slices.Equal(others, c.others) {
			t.Errorf("%s: %v %v %v %v", name, skillNames(top), commands, agents, others)
		}
	}
}

func TestAgentPluginHasItsOwnPlaces(t *testing.T) {
	const places = `
-- skills/pdf/SKILL.md --
---
name: pdf
description: d
---
-- agents/reviewer.md --
Review.
-- com.github.copilot/agents/tester.agent.md --
Test.
-- com.github.copilot/commands/ship.md --
Ship.
-- com.github.copilot/rules/a.md --
# A
-- extensions/board/extension.mjs --
run()
-- mcp.json --
{"mcpServers": {"notes": {"command": "notes"}}}
`
	for name, c := range map[string]struct {
		manifest                          string
		commands, agents, servers, leaves []string
	}{
		"its manifest":  {"plugin.json", []string{"ship.md"}, []string{"reviewer.md", "tester.md"}, []string{"notes"}, []string{"com.github.copilot/rules", "extensions"}},
		"another's":     {".claude-plugin/plugin.json", nil, []string{"reviewer.md"}, nil, nil},
		"another's too": {".github/plugin/plugin.json", nil, []string{"reviewer.md"}, nil, nil},
		"none":          {"package.json", nil, []string{"reviewer.md"}, nil, nil},
	} {
		tree := published(t, places+"-- "+c.manifest+" --\n{\"name\": \"p\", \"version\": \"1.0.0\"}\n", nil)
		top, err := tree.Top()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var commands, agents, servers, leaves []string
		for _, f := range top.Neutral.Commands {
			commands = append(commands, f.Rel)
		}
		for _, f := range top.Neutral.Agents {
			agents = append(agents, f.Rel)
		}
		for _, s := range top.Neutral.Servers {
			servers = append(servers, s.Name)
		}
		for _, p := range top.Problems {
			rel, err := filepath.Rel(tree.Dir, p.Path)
			if err != nil {
				rel = p.Path
			}
			leaves = append(leaves, rel)
		}
		if !slices.Equal(commands, c.commands) || !slices.Equal(agents, c.agents) || !slices.Equal(servers, c.servers) || !slices.Equal(leaves, c.leaves) {
			t.Errorf("%s: %v %v %v, left out %v", name, commands, agents, servers, leaves)
		}
	}
}

// A manifest may name files that lie where Copilot's users have them.
func TestManifestNamesCopilotsPrompts(t *testing.T) {
	tree := published(t, `
-- plugin.json --
{"name": "p", "agents": [".github/agents/a/judge.agent.md"], "commands": [".github/prompts/a/ship.prompt.md", ".github/prompts/b"]}
-- .github/agents/a/judge.agent.md --
Judge.
-- .github/prompts/a/ship.prompt.md --
Ship.
-- .github/prompts/b/fix.prompt.md --
Fix.
`, nil)
	top, err := tree.Top()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range slices.Concat(top.Neutral.Commands, top.Neutral.Agents) {
		names = append(names, f.Rel)
	}
	if got := strings.Join(names, " "); got != "ship.md fix.md judge.md" {
		t.Errorf("%s", got)
	}
}

func TestPickOfNothingListsWhatIsThere(t *testing.T) {
	for want, pick := range map[string]*spec.Pick{
		`no skill "pfd"; did you mean "pdf"?; the source has 3 skills: docx, for-codex, pdf`: {Skills: []string{"pdf", "pfd"}},
		`no subagent "x"; the source has 2 subagents: reviewer, tester`:                      {Agents: []string{"x"}},
		`no MCP server "y*"; the source has 2 MCP servers: docs, notes`:                      {Servers: []string{"y*"}},
		`no hook "PreToolUse"; the source has 2 hooks: SessionStart, Stop`:                   {Hooks: []string{"PreToolUse"}},
	} {
		_, err := published(t, many, pick).Top()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func TestPluginHookGetsFilesThatItUses(t *testing.T) {
	top, err := published(t, many, nil).Top()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range top.Neutral.Programs {
		files = append(files, f.Rel)
	}
	if want := []string{"src/data/text.txt", "src/hooks/hooks.json", "src/hooks/run", "src/run-hook"}; !slices.Equal(files, want) {
		t.Errorf("%v, want %v", files, want)
	}
	h := top.Neutral.Hooks[0]
	if want := `src/run-hook '"$CLAUDE_PLUGIN_ROOT/hooks/run" '\''it'\'''`; h.Command != want || h.Shown() != `"${CLAUDE_PLUGIN_ROOT}/hooks/run" 'it'` {
		t.Errorf("%s, %s", h.Command, h.Shown())
	}
	if top.Neutral.Hooks[1].Command != "date" {
		t.Errorf("a command without files became %s", top.Neutral.Hooks[1].Command)
	}
}

// A plugin for Cursor has its rules and servers in places that mean something else
// in other sources; its hooks have a form that others do not read.
func TestCursorPlugin(t *testing.T) {
	const text = `
-- rules/always.mdc --
---
alwaysApply: true
---
# Always
-- more/go.mdc --
---
globs: "**/*.go"
---
# Go
-- mcp.json --
{"mcpServers": {"notes": {"command": "notes"}}}
-- hooks/hooks.json --
{"version": 1, "hooks": {"sessionStart": [{"command": "./run"}]}}
`
	for manifest, want := range map[string]string{
		".cursor-plugin/plugin.json": "rules/always.mdc more/go.mdc notes",
		".claude-plugin/plugin.json": "",
	} {
		tree := published(t, text+"-- "+manifest+" --\n{\"name\": \"p\", \"rules\": [\"./rules/\", \"./more/go.mdc\"]}\n", nil)
		top, err := tree.Top()
		if err != nil {
			t.Fatal(err)
		}
		core, err := tree.Core()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range core.Rules {
			got = append(got, r.Src)
		}
		for _, s := range top.Neutral.Servers {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", manifest, got, want)
		}
		if len(top.Problems) != 1 || top.Problems[0].Text != "has a hook at sessionStart that is left out: it is in Cursor's form" {
			t.Errorf("%s: %v", manifest, top.Problems)
		}
	}
}

// The field rules is Cursor's: in manifests for others it may hold anything.
func TestRulesOfManifestAreCursors(t *testing.T) {
	for manifest, want := range map[string]string{
		"-- .cursor-plugin/plugin.json --\n{\"rules\": \"../x\"}\n": `plugin.json: rules: "../x" leads out of the plugin`,
		"-- .claude-plugin/plugin.json --\n{\"rules\": {}}\n":       "<nil>",
	} {
		_, err := published(t, manifest, nil).Core()
		if got := fmt.Sprint(err); !strings.HasSuffix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// No program fills in the folder of a plugin that it did not install.
func TestPluginFolderInTextIsNamed(t *testing.T) {
	const use = "Run ${CLAUDE_PLUGIN_ROOT}/run.\n"
	top, err := published(t, "-- commands/a.md --\n"+use+"-- agents/b.md --\n"+use+"-- skills/c/SKILL.md --\n"+skillText+use+"-- commands/d.md --\nText\n", nil).Top()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range append(top.Problems, top.Neutral.Skills[0].Problems...) {
		if p.Text == noRoot {
			got = append(got, filepath.Base(p.Path))
		}
	}
	if !slices.Equal(got, []string{"a.md", "b.md", "SKILL.md"}) {
		t.Error(got)
	}
}

// What is fetched must not change its digest by what a spec takes of it.
func TestDigestIsThatOfTheWholeSource(t *testing.T) {
	all := published(t, many, nil)
	want, err := all.Digest()
	if err != nil {
		t.Fatal(err)
	}
	some, err := new(Sources).Open(context.Background(), spec.Source{Name: "src", URL: all.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := some.Digest(); err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if err := os.WriteFile(filepath.Join(all.Dir, ".mcp.json"), []byte(`{"evil": {"command": "x"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := published(t, many, nil).Digest(); err != nil || got != want {
		t.Errorf("the same files: %s, %v", got, err)
	}
	changed, err := new(Sources).Open(context.Background(), spec.Source{Name: "other", URL: all.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := changed.Digest(); err != nil || got == want {
		t.Errorf("another server has the same digest: %v", err)
	}
}

func TestSourceOfTooManyFilesIsRefused(t *testing.T) {
	for name, skills := range map[string]int{"one skill": 1, "two skills": 2} {
		files := fstest.MapFS{}
		for i := range maxFiles {
			files[fmt.Sprintf("skills/s%d/%d.md", i%skills, i)] = &fstest.MapFile{Data: []byte("x")}
		}
		for i := range skills {
			files[fmt.Sprintf("skills/s%d/SKILL.md", i)] = &fstest.MapFile{Data: []byte(skillText)}
		}
		tree := &Tree{Name: "src", Dir: "src/", versions: noVersions, embedded: files}
		if err := tree.open(); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Top(); err == nil || !strings.Contains(err.Error(), "has more than 50000 files") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPublishedSourceIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"names that collide":      {"-- skills/a/pdf/SKILL.md --\n" + skillText + "-- skills/b/PDF/SKILL.md --\n" + skillText, "duplicate skill"},
		"a path of another":       {"-- .claude-plugin/plugin.json --\n{\"name\": \"p\",\n\"commands\": \"../other/commands\"}\n", "leads out of the plugin"},
		"a manifest of no JSON":   {"-- .claude-plugin/plugin.json --\n{\"name\": \n", "plugin.json:2: unexpected end"},
		"hooks of no known shape": {"-- hooks/hooks.json --\n{\"hooks\": {\"Stop\": {\"hooks\": 5}}}\n", "hooks.json:1: "},
		"a later manifest":        {"-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"skills\": {\"kind\": \"x\"}}\n", "skills: want a path or a list of paths"},
		"a joiner in a name":      {"-- commands/dep\u200dloy.md --\n# Deploy\n", "a character that cannot be seen"},
		"selectors in a name":     {"-- commands/deploy\ufe01\ufe02\ufe03.md --\n# Deploy\n", "a character that cannot be seen"},
		"servers of no object":    {"-- .mcp.json --\n{\"mcpServers\": 5}\n", ".mcp.json: mcpServers"},
	} {
		if _, err := published(t, c.text, nil).Top(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := published(t, "-- commands/می\u200cخواهم.md --\n# A\n-- commands/👩\u200d🔬.md --\n# B\n", nil).Top(); err != nil {
		t.Errorf("a joiner that its script needs: %v", err)
	}
	missing, err := published(t, "-- .claude-plugin/plugin.json --\n{\"name\": \"p\", \"commands\": \"./more\"}\n-- commands/a.md --\n# A\n", nil).Top()
	if err != nil || !slices.ContainsFunc(missing.Problems, func(p Problem) bool { return strings.Contains(p.Text, "is not there") }) {
		t.Errorf("a missing place: %+v, %v", missing, err)
	}
	broken := published(t, "-- skills/pdf/SKILL.md --\n---\nname: [\n---\n", nil)
	top, err := broken.Top()
	if err != nil || len(top.Neutral.Skills) != 1 || len(top.Neutral.Skills[0].Problems) == 0 {
		t.Errorf("broken front matter: %+v, %v", top, err)
	}
}

// A hook of a plugin keeps its matcher in Claude Code's words there; other programs
// have their own names of the tools.
func TestMatcherOfHook(t *testing.T) {
	h := Hook{Tools: []string{"shell", "edit"}, matcher: "Bash|Write"}
	names := map[string]string{"shell": "sh", "edit": "patch"}
	if got, ok := h.Matcher("claude", names); !ok || got != "Bash|Write" {
		t.Errorf("claude: %q, %v", got, ok)
	}
	if got, ok := h.Matcher("codex", names); !ok || got != "sh|patch" {
		t.Errorf("codex: %q, %v", got, ok)
	}
	if _, ok := h.Matcher("codex", map[string]string{"shell": "sh"}); ok {
		t.Error("a tool without a name is matched")
	}
}
