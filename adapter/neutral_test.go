package adapter

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// everything is a bundle with every neutral part.
const everything = `
-- languages/a/commands/fix.md --
---
description: Fix it
---
Fix $ARGUMENTS.
-- languages/a/common/agents/critic.md --
---
name: critic
description: Reviews
tools: Read
---
You review.
-- languages/a/skills/notes/SKILL.md --
---
name: notes
description: Takes notes
---
-- languages/a/skills/mine/SKILL.md --
---
name: mine
description: For claude
runtimes: [claude]
---
-- languages/a/hooks/hooks.json --
{"hooks": [
  {"event": "pre-tool-use", "tools": ["shell"], "command": "check.sh --fast", "timeout": 5, "level": "required"},
  {"event": "SessionStart", "command": "date"}
]}
-- languages/a/hooks/check.sh --
#!/bin/sh
-- languages/a/permissions.json --
{"allow": ["shell(make *)"], "deny": ["edit(vendor/**)"]}
-- languages/a/ignore --
# secrets
.env
/build/
`

func neutralProject(t *testing.T, archive string, runtimes ...string) (Decls, error) {
	t.Helper()
	return projectOf(t, "a", archive, runtimes...)
}

// projectOf declares a project with the bundle called name of a source.
func projectOf(t *testing.T, name, archive string, runtimes ...string) (Decls, error) {
	t.Helper()
	src := source(t, "s", archive)
	p := Project{Spec: &spec.Project{Name: "p", Dir: "/p", Sources: []spec.Source{src}}, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}}
	for i, id := range runtimes {
		p.Spec.Runtimes = append(p.Spec.Runtimes, spec.Named{Value: id, Pos: line("aisync.cue", i+1)})
	}
	p.Spec.Bundles = []spec.BundleRef{{Source: "s", Name: name, Pos: line("aisync.cue", 11)}}
	return p.Declare(context.Background())
}

func TestEveryRuntimeGetsEveryNeutralPartInItsOwnForm(t *testing.T) {
	var ids []string
	for _, rt := range catalog.Runtimes() {
		ids = append(ids, rt.ID)
	}
	d, err := neutralProject(t, everything, ids...)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "neutral.txt", show(d))
	if tree := written(t, d.Declarations); !strings.Contains(tree[".gemini/commands/fix.toml"], "Fix {{args}}.") ||
		!strings.Contains(tree[".codex/rules/aisync.rules"], `prefix_rule(pattern = ["make"], decision = "allow")`) ||
		!strings.Contains(tree[".cursor/hooks.json"], `"version": 1`) {
		t.Errorf("wrote %v", tree)
	}
}

func TestUnrunHookIsNotedAndWarnedIfRequired(t *testing.T) {
	d, err := neutralProject(t, everything, "aider", "claude", "opencode")
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"warning: the required hook PreToolUse check.sh --fast of s//a is manual for aider: nothing runs it there",
		"note: the hook SessionStart date of s//a is not run by aider but by ai: start it with ai",
		"warning: the permissions of s//a are not for aider, which has no file for them in this scope",
	} {
		if !strings.Contains(show(d), says) {
			t.Errorf("does not say %q:\n%s", says, show(d))
		}
	}
	if tree := written(t, d.Declarations); !strings.Contains(tree[".opencode/plugins/aisync-hooks.js"], `"on":"PreToolUse","tools":["bash"]`) {
		t.Errorf("opencode does not run it: %s", tree[".opencode/plugins/aisync-hooks.js"])
	}
	if !strings.Contains(show(d), `/hooks/PreToolUse#{"matcher":"Bash","type":"command","command":"\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.sh --fast"}`) {
		t.Errorf("claude does not run it:\n%s", show(d))
	}
}

func TestASkillMayBeForSomeRuntimes(t *testing.T) {
	d, err := neutralProject(t, everything, "claude", "codex", "copilot")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, decl := range d.Declarations {
		if strings.Contains(string(decl.Target), "skills/") {
			got = append(got, decl.Target.Name())
		}
	}
	want := []string{".agents/skills/notes/SKILL.md", ".claude/skills/mine/SKILL.md", ".claude/skills/notes/SKILL.md"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(show(d), "the skill mine of s//a is for claude; copilot finds it too, in .claude/skills") {
		t.Errorf("says\n%s", show(d))
	}
}

func TestWhatIsWrongWithANeutralPartIsSaidWithItsPlace(t *testing.T) {
	for archive, want := range map[string]string{
		"-- languages/a/hooks/hooks.json --\n{\"hooks\": [\n {\"event\": \"Start\", \"command\": \"x\"}]}\n": `hooks.json: hook 1: unknown event "Start"`,
		"-- languages/a/hooks/hooks.json --\n{\"hooks\": [{\"event\": \"Stop\"}]}\n":                         "hooks.json: hook 1: no command",
		"-- languages/a/hooks/hooks.json --\n{\"hooks\": [\n{\"event\": \"Stop\", \"cmd\": \"x\"}]}\n":       `hooks.json:2: unknown field "cmd"`,
		"-- languages/a/permissions.json --\n{\"allow\": [\n\"shel(x)\"\n]}\n":                               `permissions.json: allow "shel(x)": unknown tool "shel"; did you mean "shell"?`,
		"-- languages/a/permissions.json --\n{\"allow\": [\n\"shell(x\"\n]\n":                                "permissions.json:4: unexpected end",
		"-- languages/a/skills/x/SKILL.md --\n---\nname: [\n---\n":                                           "SKILL.md line 2: front matter:",
		"-- languages/a/rules/x.md --\n---\npaths: [\n---\n# X\n":                                            "x.md line 2: front matter:",
		"-- languages/a/rules/x.md --\nno heading\n":                                                         "x.md has no heading",
		"-- languages/a/skills/x/SKILL.md --\n---\ndescription: y\n---\n":                                    "SKILL.md has no name in its front matter",
	} {
		d, err := neutralProject(t, archive, "claude")
		said := show(d)
		if err != nil {
			said += err.Error()
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s\nsays\n%s\nwant %s", archive, said, want)
		}
	}
}

func TestAProgramThatTakesTheHooksOfAnotherGetsThemOnce(t *testing.T) {
	for _, test := range []struct {
		runtimes []string
		want     bool // copilot has hooks of its own
	}{{[]string{"claude", "copilot"}, false}, {[]string{"codex", "copilot"}, true}} {
		d, err := neutralProject(t, everything, test.runtimes...)
		if err != nil {
			t.Fatal(err)
		}
		own := strings.Contains(show(d), `"matcher":"bash","timeoutSec":5`)
		if own != test.want || strings.Contains(show(d), "is manual for copilot") {
			t.Errorf("%q: copilot has hooks of its own: %v\n%s", test.runtimes, own, show(d))
		}
	}
	d, err := neutralProject(t, "-- languages/a/claude/settings.json --\n{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}\n", "claude", "codex", "copilot")
	if err != nil || !strings.Contains(show(d), "the hooks of s//a are for claude; they are manual for codex  <-") {
		t.Errorf("%v\n%s", err, show(d))
	}
}
