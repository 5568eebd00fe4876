package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// unpack writes a txtar archive to a new folder and opens it as source "src".
func unpack(t *testing.T, archive string) *Tree {
	t.Helper()
	dir := t.TempDir()
	if err := txtar.Write(txtar.Parse([]byte(archive)), dir); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

func open(t *testing.T, dir string) *Tree {
	t.Helper()
	tree, err := new(Sources).Open(context.Background(), spec.Source{Name: "src", URL: dir})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func rels(files []File) []string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s %o", f.Rel, f.Mode))
	}
	slices.Sort(out)
	return out
}

const oldLayout = `
-- claude-rules/commits.md --
# Commits
Applies to: ` + "`**/*`" + `
-- languages/elisp/CLAUDE.md --
# Notes
-- languages/elisp/claude/rules/elisp.md --
---
paths: ["**/*.el", Cask]
---
# Emacs Lisp
-- languages/elisp/claude/settings.json --
{}
-- languages/elisp/claude/hooks/check.sh --
#!/bin/sh
-- languages/elisp/claude/hooks/lib.py --
x = 1
-- languages/elisp/claude/commands/fix.md --
Fix it.
-- languages/elisp/githooks/pre-commit --
#!/bin/sh
-- languages/elisp/gitignore-add.txt --
# compiled

*.elc
*.eln
*.elc
`

const newLayout = `
-- agent-rules/commits.md --
# Commits
Applies to: ` + "`**/*`" + `
-- languages/elisp/runtimes/claude/CLAUDE.md --
# Notes
-- languages/elisp/common/rules/elisp.md --
---
paths: ["**/*.el", Cask]
---
# Emacs Lisp
-- languages/elisp/runtimes/claude/settings.json --
{}
-- languages/elisp/runtimes/claude/hooks/check.sh --
#!/bin/sh
-- languages/elisp/runtimes/claude/hooks/lib.py --
x = 1
-- languages/elisp/runtimes/claude/commands/fix.md --
Fix it.
-- languages/elisp/common/githooks/pre-commit --
#!/bin/sh
-- languages/elisp/common/gitignore-add.txt --
*.elc
*.eln
`

func TestBothLayoutsHoldTheSameParts(t *testing.T) {
	for name, archive := range map[string]string{"old": oldLayout, "new": newLayout} {
		t.Run(name, func(t *testing.T) {
			tree := unpack(t, archive)
			core := must(tree.Core())(t)
			p := must(tree.Language("elisp"))(t)
			c := p.Runtime("claude")
			got := map[string][]string{
				"core": rels(core.Rules), "rules": rels(p.Rules), "seeds": rels(append(p.Seeds, c.Seeds...)),
				"githooks": rels(p.GitHooks), "ignore": p.Ignore, "hooks": rels(c.Hooks), "others": rels(c.Others),
				"settings": {string(c.Settings[0].Text)}, "globs": p.Rules[0].About.Globs, "title": {p.Rules[0].About.Title},
			}
			want := map[string][]string{
				"core": {"commits.md 644"}, "rules": {"elisp.md 644"}, "seeds": {"CLAUDE.md 644"},
				"githooks": {"pre-commit 755"}, "ignore": {"*.elc", "*.eln"}, "hooks": {"check.sh 755", "lib.py 644"},
				"others": {"commands/fix.md 644"}, "settings": {"{}\n"}, "globs": {"**/*.el", "Cask"}, "title": {"Emacs Lisp"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOneRuleInBothLayoutsIsOneRuleOrAnError(t *testing.T) {
	both := oldLayout + "-- languages/elisp/common/rules/elisp.md --\n---\npaths: [\"**/*.el\", Cask]\n---\n# Emacs Lisp\n"
	if p := must(unpack(t, both).Language("elisp"))(t); len(p.Rules) != 1 {
		t.Errorf("rules: %v, want one", rels(p.Rules))
	}
	_, err := unpack(t, strings.Replace(both, "# Emacs Lisp", "# Lisp", 1)).Language("elisp")
	if err == nil || !strings.Contains(err.Error(), "differ") || !strings.Contains(err.Error(), filepath.Join("claude", "rules")) {
		t.Errorf("error: %v, want both places", err)
	}
}

func TestTheOldNameOfTheRulesMayBeALink(t *testing.T) {
	for link, target := range map[string]string{"claude-rules": "agent-rules", "agent-rules": "claude-rules"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, target, "a.md"), []byte("# A\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		p := must(open(t, dir).Core())(t)
		if len(p.Rules) != 1 || p.Rules[0].Src != target+"/a.md" {
			t.Errorf("link %s: %+v, want one rule from %s", link, p.Rules, target)
		}
	}
}

func TestSettingsOfOnePersonAreNotInstalled(t *testing.T) {
	p := must(unpack(t, "-- languages/a/claude/settings.local.json --\n{}\n-- languages/a/claude/output.txt --\nx\n").Language("a"))(t)
	if got := rels(p.Runtime("claude").Others); !slices.Equal(got, []string{"output.txt 644"}) {
		t.Errorf("files: %v", got)
	}
	if len(p.Problems) != 1 || !strings.Contains(p.Problems[0].Text, "are personal") {
		t.Errorf("problems: %+v", p.Problems)
	}
}

func TestLinksOutOfTheTreeAreRefused(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("# S\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		link, target string
		read         func(*Tree) error
		want         string // "" is accepted
	}{
		"file":     {"agent-rules/x.md", outside, func(t *Tree) error { _, err := t.Core(); return err }, "links out of the source"},
		"dangling": {"agent-rules/x.md", "nowhere.md", func(t *Tree) error { _, err := t.Core(); return err }, "no such file"},
		"folder":   {"hooks", filepath.Dir(outside), func(t *Tree) error { _, err := t.Hooks(); return err }, "links out of the source"},
		"snippet":  {"hooks/settings-snippet.json", outside, func(t *Tree) error { _, err := t.Hooks(); return err }, "links out of the source"},
		"within":   {"agent-rules/x.md", "commits.md", func(t *Tree) error { _, err := t.Core(); return err }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := txtar.Write(txtar.Parse([]byte("-- agent-rules/commits.md --\n# C\n")), dir); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(dir, test.link)
			if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(test.target, link); err != nil {
				t.Fatal(err)
			}
			err := test.read(open(t, dir))
			if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
				t.Errorf("error: %v, want %q", err, test.want)
			}
		})
	}
}

func TestSkillsAreFoundAtTheTopAndInSkills(t *testing.T) {
	tree := unpack(t, `
-- review/SKILL.md --
---
name: review
description: >
  Reviews.
---
See [verify](../claude-rules/verify.md).
-- review/scripts/run.sh --
echo
-- skills/plan/SKILL.md --
---
name: plan
---
-- scripts/lint.sh --
echo
-- notes/README.md --
`)
	skills := must(tree.Skills())(t)
	if len(skills) != 2 || skills[0].Name != "plan" || skills[1].Name != "review" {
		t.Fatalf("skills: %+v, want plan and review", skills)
	}
	if got := skills[0].Problems; len(got) != 1 || !strings.Contains(got[0].Text, "description") {
		t.Errorf("problems of plan: %+v, want one about its description", got)
	}
	if got := skills[1]; len(got.Problems) != 0 || !slices.Equal(got.Bridges(), []string{"claude-rules"}) || skills[0].Bridges() != nil {
		t.Errorf("review: problems %v, bridges %v", got.Problems, got.Bridges())
	}
	if diff := cmp.Diff([]string{"SKILL.md 644", "scripts/run.sh 644"}, rels(skills[1].Files)); diff != "" {
		t.Error(diff)
	}
}

func TestFindSuggestsName(t *testing.T) {
	one, two := unpack(t, oldLayout+"-- teams/deepsat/common/rules/d.md --\n# D\n"), unpack(t, newLayout+"-- languages/python/gitignore-add.txt --\n*.pyc\n")
	among := []spec.Source{{Name: "one", URL: one.Dir}, {Name: "two", URL: two.Dir}}
	pos := spec.Position{File: "aisync.cue", Line: 9, Col: 12}
	tests := []struct {
		kind         Kind
		source, name string
		among        []spec.Source
		want         string // the source, or part of the error
	}{
		{Language, "one", "elisp", among, "one"},
		{Language, "", "python", among, "two"},
		{Language, "two", ".", among, "two"},
		{Team, "", "deepsat", among, "one"},
		{Language, "", "elisp", among, `aisync.cue:9:12: language "elisp" is in more than one source; say which: "one//elisp" or "two//elisp"`},
		{Language, "", "pyhton", among, `aisync.cue:9:12: unknown language "pyhton"; did you mean "python"? there is elisp, go, python`},
		{Language, "one", "rust", among, `unknown language "rust" in source "one"; there is elisp`},
		{Language, "tow", "elisp", among, `unknown source "tow"; did you mean "two"? there is one, two`},
		{Team, "two", "deepsat", among, `unknown team "deepsat" in source "two"; none is known`},
		{Language, "", "elisp", nil, Own},
		{Language, Own, "go", nil, Own},
		{Language, Own, "elisp", among, Own},
		{Language, "", "go", among, Own},
		{Language, "", "go", append([]spec.Source{{Name: Own, URL: two.Dir}}, among...), Own}, // the other, as the next shows
		{Language, Own, "go", []spec.Source{{Name: Own, URL: two.Dir}}, `unknown language "go" in source "aisync"; there is elisp, python`},
		{Language, Own, "rust", nil, `unknown language "rust" in source "aisync"; there is elisp, go, python`},
		{Language, "", "rust", nil, `unknown language "rust"; there is elisp, go, python; for others add a source`},
		{Team, "", "deepsat", nil, `unknown team "deepsat"; none is known; for others add a source`},
		{Language, "one", "elisp", nil, "no source; add one"},
		{Language, "gone", "elisp", []spec.Source{{Name: "gone", URL: "nowhere", Dir: one.Dir}}, "no such folder: " + filepath.Join(one.Dir, "nowhere")},
		{Language, "git", "elisp", []spec.Source{{Name: "git", URL: "git::https://example.org/r?ref=v1"}}, "must be fetched"},
	}
	for _, test := range tests {
		t.Run(test.source+"//"+test.name, func(t *testing.T) {
			found, err := new(Sources).Find(context.Background(), test.kind, spec.BundleRef{Source: test.source, Name: test.name, Pos: pos}, test.among)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = found.Tree.Name
			}
			if err == nil && got != test.want || !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestRemoteSourcesAreResolvedOnce(t *testing.T) {
	folder, calls := unpack(t, newLayout).Dir, 0
	s := &Sources{Resolve: func(context.Context, spec.Source) (string, string, error) { calls++; return folder, "abc123", nil }}
	src := spec.Source{Name: "r", URL: "git::https://example.org/r.git?ref=v1"}
	for range 2 {
		tree := must(s.Open(context.Background(), src))(t)
		if tree.Dir != folder || tree.Pinned != "abc123" {
			t.Errorf("tree %s pinned %s", tree.Dir, tree.Pinned)
		}
	}
	if calls != 1 {
		t.Errorf("resolved %d times, want once", calls)
	}
}

func TestTheDigestMovesWithWhatIsInstalledAndWithNothingElse(t *testing.T) {
	base := unpack(t, oldLayout)
	digest := must(base.Digest())(t)
	change := func(rel, text string, mode os.FileMode) string {
		tree := unpack(t, oldLayout)
		if err := os.WriteFile(filepath.Join(tree.Dir, rel), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(tree.Dir, rel), mode); err != nil {
			t.Fatal(err)
		}
		return must(tree.Digest())(t)
	}
	if got := change("README.md", "hello", 0o644); got != digest {
		t.Error("a README moved the digest")
	}
	for _, c := range []struct {
		rel, text string
		mode      os.FileMode
	}{{"claude-rules/commits.md", "# Other\n", 0o644}, {"claude-rules/new.md", "# New\n", 0o644}, {"languages/elisp/claude/hooks/lib.py", "x = 1\n", 0o755}} {
		if got := change(c.rel, c.text, c.mode); got == digest {
			t.Errorf("%s did not move the digest", c.rel)
		}
	}
}

func BenchmarkReadingAThousandRules(b *testing.B) {
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "agent-rules"), 0o755); err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat("One change a commit; the first line says what it does.\n", 60)
	for i := range 1000 {
		text := fmt.Sprintf("---\npaths: [\"**/*.x%d\"]\n---\n# Rule %d\n\n%s", i, i, body)
		if err := os.WriteFile(filepath.Join(dir, "agent-rules", fmt.Sprintf("r%04d.md", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		tree, err := new(Sources).Open(context.Background(), spec.Source{Name: "b", URL: dir})
		if err != nil {
			b.Fatal(err)
		}
		if p, err := tree.Core(); err != nil || len(p.Rules) != 1000 {
			b.Fatal(err)
		}
	}
}

func TestNamesThatDifferOnlyInCaseAreRefused(t *testing.T) {
	for _, archive := range []string{
		"-- agent-rules/Go.md --\n# Go\n-- agent-rules/go.md --\n# go\n",
		"-- languages/go/common/rules/a/x.md --\n# X\n-- languages/go/common/rules/A/y.md --\n# Y\n",
	} {
		_, err := unpack(t, archive).Digest()
		if err == nil || !strings.Contains(err.Error(), "differ only in case") {
			t.Errorf("got %v", err)
		}
	}
}

func TestBytesOfARuleStayAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "agent-rules", "a.md")
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"# A\r\n\r\nApplies to: `**/*.go`\r\n", "# A\n\nno end"} {
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		core := must(open(t, dir).Core())(t)
		if r := core.Rules[0]; string(r.Text) != text || r.About.Title != "A" {
			t.Errorf("%q: read as %q, title %q", text, r.Text, r.About.Title)
		}
	}
}

func TestAFileThatIsTooLargeOrNoneIsNamed(t *testing.T) {
	tree := unpack(t, "-- agent-rules/a.md --\n# A\n")
	big := filepath.Join(tree.Dir, "agent-rules", "big.md")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, tree.Dir).Core(); !errors.Is(err, fsys.ErrTooLarge) || !strings.Contains(err.Error(), "big.md") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(big); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(big, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, tree.Dir).Core(); err == nil || !strings.Contains(err.Error(), "big.md is neither a file nor a folder") {
		t.Errorf("got %v", err)
	}
}
