package adapter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile/resource"
	"aisync.dev/aisync/schema/spec"
)

// source writes a txtar archive to a folder that a spec can name as "src".
func source(t *testing.T, name, archive string) spec.Source {
	t.Helper()
	dir := t.TempDir()
	if err := txtar.Write(txtar.Parse([]byte(archive)), dir); err != nil {
		t.Fatal(err)
	}
	return spec.Source{Name: name, URL: dir}
}

// project is one that uses the bundles named "source//name" with the runtimes.
func project(runtimes []string, sources []spec.Source, bundles ...string) Project {
	p := &spec.Project{Name: "p", Dir: "/p", Sources: sources}
	for i, r := range runtimes {
		p.Runtimes = append(p.Runtimes, spec.Named{Value: r, Pos: line("aisync.cue", 1+i)})
	}
	for i, b := range bundles {
		src, name, _ := strings.Cut(b, "//")
		p.Bundles = append(p.Bundles, spec.BundleRef{Source: src, Name: name, Pos: line("aisync.cue", 11+i)})
	}
	return Project{Spec: p, Runtimes: adapters(), Sources: &bundle.Sources{}, Git: true}
}

func TestErrorsNamePosition(t *testing.T) {
	one := source(t, "one", `
-- languages/a/CLAUDE.md --
# One
-- languages/a/common/rules/testing.md --
# Testing of a
-- languages/a/claude/settings.json --
{"permissions": {"allow": ["x"],}}
-- languages/b/claude/settings.json --
{"permissions":
  {"allow": "Bash"x}}
`)
	two := source(t, "two", "-- languages/c/CLAUDE.md --\n# Two\n-- languages/c/common/rules/testing.md --\n# Testing of c\n")
	tests := map[string]struct {
		project Project
		want    []string
	}{
		"two seeds": {project([]string{"claude"}, []spec.Source{one, two}, "one//a", "two//c"), []string{
			"aisync.cue:12:1: one//a and two//c (aisync.cue:11:1) bring different files CLAUDE.md",
			"bring different rules testing.md",
		}},
		"settings": {project([]string{"claude"}, []spec.Source{one}, "one//b"), []string{
			"aisync.cue:11:1: settings of one//b for claude: " + filepath.Join(one.URL, "languages/b/claude/settings.json") + ":2:",
		}},
		"unknown": {project([]string{"cluade"}, []spec.Source{one}, "one//d"), []string{
			`aisync.cue:1:1: unknown runtime "cluade"; did you mean "claude"?`,
			`aisync.cue:11:1: unknown language "d" in source "one"`,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := test.project.Declare(context.Background())
			for _, want := range test.want {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestEqualSeedsOfTwoBundlesAreOne(t *testing.T) {
	archive := "-- languages/%s/CLAUDE.md --\n# Same\n"
	src := source(t, "s", fmt.Sprintf(archive, "a")+fmt.Sprintf(archive, "b"))
	d, err := project([]string{"claude"}, []spec.Source{src}, "s//a", "s//b").Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Declarations[0].Leaves; len(got) != 1 || len(got[0].Origin) != 2 {
		t.Errorf("leaves: %+v, want one of two places", got)
	}
}

func TestSettingsThatDifferAreAConflictOfBothPlaces(t *testing.T) {
	src := source(t, "s", "-- languages/a/claude/settings.json --\n{\"model\": \"x\"}\n-- languages/b/claude/settings.json --\n{\"model\": \"y\"}\n")
	d, err := project([]string{"claude"}, []spec.Source{src}, "s//a", "s//b").Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, conflicts := resource.Compose(d.Declarations)
	if len(conflicts) != 1 || conflicts[0].Key != "/model" || len(conflicts[0].Origin) != 2 {
		t.Errorf("conflicts: %+v", conflicts)
	}
}

func TestScopedRulesKeepTheirFormAndAreNamedForOthers(t *testing.T) {
	tests := map[string]struct {
		rule  string
		front string // what is put in place of the first lines for claude
		names bool   // opencode is told when to read it
	}{
		"claude's paths": {"---\npaths:\n  - \"**/*.el\"\n---\n# A\n", "", true},
		"cursor's globs": {"---\nglobs: **/*.el\n---\n# A\n", "---\npaths:\n  - \"**/*.el\"\n---\n", true},
		"every file":     {"---\napplyTo: \"**\"\n---\n# A\n", "", false},
		"says nothing":   {"# A\n", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := source(t, "s", "-- agent-rules/a.md --\n"+test.rule)
			p := project([]string{"claude", "opencode"}, []spec.Source{src}, "s//.")
			p.Runtimes = catalog.Runtimes()
			d, err := p.Declare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got, want := prints(d), test.rule
			if test.front != "" {
				want = test.front + "# A\n"
			}
			if !test.names {
				if got["file:AGENTS.md block:rules"] == "" || got["file:.claude/rules/a.md "] != "" {
					t.Errorf("what holds always is not in the common file: %v", got)
				}
				return
			}
			if got["file:.claude/rules/a.md "] != digest(want) {
				t.Errorf(".claude/rules/a.md does not hold\n%s", want)
			}
			list := "# Rules to read when they apply\n\n- If your program has not given you this rule already, read `.claude/rules/a.md` before you touch `**/*.el`.\n"
			if got["file:.opencode/rules/aisync-index.md "] != digest(list) {
				t.Errorf("opencode is not told of it: %v", got)
			}
		})
	}
}

func TestRulesGetFrontMatterOnlyWhereTheyNeedIt(t *testing.T) {
	tests := map[string]struct {
		manifest string
		rule     string
		front    string // what is put in front of it for claude
	}{
		"by prose":         {`{"scope": "applies-to"}`, "# A\nApplies to: `**/*.el`, `say \"x\"`\n", "---\npaths:\n  - \"**/*.el\"\n  - \"say \\\"x\\\"\"\n---\n"},
		"every file":       {`{"scope": "applies-to"}`, "# A\nApplies to: `**/*`\n", ""},
		"prose":            {"{}", "# A\nApplies to: `**/*.el`\n", ""},
		"says nothing":     {"{}", "# A\n", ""},
		"has front matter": {`{"scope": "applies-to"}`, "---\npaths: [x]\n---\n# A\nApplies to: `*.el`\n", ""},
		"CRLF, no end":     {"{}", "# A\r\nApplies to: `*.el`\r\nend", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := source(t, "s", "-- bundle.json --\n"+test.manifest+"\n-- agent-rules/a.md --\n")
			if err := os.WriteFile(filepath.Join(src.URL, "agent-rules/a.md"), []byte(test.rule), 0o644); err != nil {
				t.Fatal(err)
			}
			d, err := project([]string{"claude"}, []spec.Source{src}, "s//.").Declare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got := prints(d)
			if want := test.front + test.rule; got["file:.claude/rules/a.md "] != digest(want) {
				t.Errorf("it does not hold\n%s", want)
			}
		})
	}
}

func TestInstructionsOfTwoBundlesAreOneText(t *testing.T) {
	src := source(t, "s", `
-- languages/a/runtimes/local-openai/instructions.md --
# A
-- languages/b/runtimes/local-openai/instructions.md --
# B
-- languages/b/runtimes/claude/instructions.md --
# C
`)
	d, err := project([]string{"local-openai", "claude"}, []spec.Source{src}, "s//a", "s//b").Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := prints(d)
	tree := written(t, d.Declarations)
	if !strings.Contains(tree["AGENTS.md"], "For local-openai only:\n\n# A\n\n# B\n") || got["file:.claude/rules/instructions.md "] != digest("# C\n") || tree["CLAUDE.md"] != "" {
		t.Errorf("declares %v and writes %q", got, tree)
	}
}

func TestGitHooksAreWiredOnlyInARepository(t *testing.T) {
	src := source(t, "s", "-- languages/a/githooks/pre-commit --\n#!/bin/sh\n")
	p := project([]string{"claude"}, []spec.Source{src}, "s//a")
	p.Git = false
	d, err := p.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Declarations) != 1 || len(d.Notes) != 1 || !d.Notes[0].Warning || !strings.Contains(d.Notes[0].Text, "not wired") {
		t.Errorf("declares:\n%s", show(d))
	}
	dir := t.TempDir()
	if gitrepo.IsTop(dir) {
		t.Error("an empty folder counts as a repository")
	}
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: ../x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !gitrepo.IsTop(dir) {
		t.Error("a linked work tree does not count as a repository")
	}
}

func TestTwoHostsDeclareTheSameForOneProject(t *testing.T) {
	core := source(t, "rulesets", "-- languages/elisp/gitignore-add.txt --\n*.other\n")
	here := declareProject(t, drill(t))
	p := Project{Spec: drill(t), Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{Home: "/home/else"}, Lent: []spec.Source{core}, Git: true}
	there, err := p.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(prints(here), prints(there)); diff != "" {
		t.Error(diff)
	}
}

func TestASourceOfTheHostIsLentWithAWarning(t *testing.T) {
	core := source(t, "core", "-- languages/a/gitignore-add.txt --\n*.x\n")
	p := project([]string{"claude"}, nil, "core//a")
	p.Lent = []spec.Source{core}
	d, err := p.Declare(context.Background())
	if err != nil || len(d.Declarations) != 1 || len(d.Notes) != 1 || !strings.Contains(d.Notes[0].Text, "known to this host only") {
		t.Errorf("error %v, declares:\n%s", err, show(d))
	}
}

func TestOtherFilesStayBelowTheFolderOfTheirRuntime(t *testing.T) {
	src := source(t, "s", "-- languages/a/claude/commands/fix.md --\nFix.\n-- languages/a/runtimes/codex/prompts/x.md --\nX\n"+
		"-- languages/a/runtimes/opencode/plugins/x.js --\nrun()\n-- languages/a/claude/hooks/lib.py --\nx = 1\n")
	d, err := project([]string{"claude", "opencode"}, []spec.Source{src}, "s//a").Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, decl := range d.Declarations {
		got = append(got, string(decl.Target))
	}
	want := []string{"file:.claude/commands/fix.md", "file:.claude/hooks/lib.py", "file:.opencode/plugins/x.js"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsOfASpecPointAtTheirOwnLines(t *testing.T) {
	p := project([]string{"claude"}, nil)
	p.Spec.Settings = []spec.Settings{
		{Runtime: "claude", JSON: []byte(`{"permissions":{"allow":["a"]},"statusLine":{"type":"command","command":"date"}}`), Pos: line("aisync.cue", 20),
			Leaves: map[string]spec.Position{"/permissions/allow": line("aisync.cue", 21), "/statusLine": line("aisync.cue", 22)}},
		{Runtime: "codex", JSON: []byte(`{}`), Pos: line("aisync.cue", 30)},
	}
	d, err := p.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := `file:.claude/settings.json [json]
    /permissions/allow#"a"  <- aisync.cue:21:1
    /statusLine/type  <- aisync.cue:22:1
    /statusLine/command  <- aisync.cue:22:1
warning: settings of codex are not used: it is not among the runtimes here  <- aisync.cue:30:1
`
	if diff := cmp.Diff(want, show(d)); diff != "" {
		t.Error(diff)
	}
}

// digest is the fingerprint of a plain file that holds text.
func digest(text string) string { return string(file.Whole([]byte(text), 0o644).Fingerprint()) }

func TestIgnoredLinesStandBelowTheNameOfTheirBundle(t *testing.T) {
	src := source(t, "s", "-- languages/a/gitignore-add.txt --\n*.x\n-- languages/b/gitignore-add.txt --\n*.x\n*.y\n")
	d, err := project([]string{"claude"}, []spec.Source{src}, "s//a", "s//b").Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, l := range d.Declarations[0].Leaves {
		keys = append(keys, fmt.Sprintf("%s %d", l.Key, len(l.Origin)))
	}
	if !slices.Equal(keys, []string{"line:*.x 2", "line:*.y 1"}) {
		t.Errorf("lines: %q", keys)
	}
}
