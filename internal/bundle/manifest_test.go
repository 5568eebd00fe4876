package bundle

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/schema/spec"
)

const proseRules = `
-- agent-rules/a.md --
# A

Applies to: ` + "`a/**`" + `
-- languages/go/common/rules/b.md --
# B

Applies to: ` + "`b/**`" + `
-- languages/go/common/commands/fix.md --
# Fix

Applies to: ` + "`c/**`" + `
-- languages/go/runtimes/claude/rules/d.md --
---
paths: [mine]
---
# D

Applies to: ` + "`d/**`" + `
-- teams/t/claude/rules/e.md --
# E

Applies to: ` + "`e/**`" + `
`

func TestManifestMakesProseAScope(t *testing.T) {
	scope := `{"scope": "applies-to"}` + "\n"
	for name, test := range map[string]struct {
		manifest, spec string
		want           map[string][]string
	}{
		"none":        {"", "", map[string][]string{"d.md": {"mine"}}},
		"empty":       {"-- bundle.json --\n{}\n", "", map[string][]string{"d.md": {"mine"}}},
		"source":      {"-- bundle.json --\n" + scope, "", map[string][]string{"a.md": {"a/**"}, "b.md": {"b/**"}, "d.md": {"mine"}, "e.md": {"e/**"}}},
		"one bundle":  {"-- languages/go/bundle.json --\n" + scope, "", map[string][]string{"b.md": {"b/**"}, "d.md": {"mine"}}},
		"team":        {"-- teams/t/bundle.json --\n" + scope, "", map[string][]string{"d.md": {"mine"}, "e.md": {"e/**"}}},
		"by the spec": {"", ByProse, map[string][]string{"a.md": {"a/**"}, "b.md": {"b/**"}, "d.md": {"mine"}, "e.md": {"e/**"}}},
	} {
		t.Run(name, func(t *testing.T) {
			tree := unpack(t, proseRules+test.manifest)
			tree, err := new(Sources).Open(context.Background(), spec.Source{Name: "src", URL: tree.Dir, Scope: test.spec})
			if err != nil {
				t.Fatal(err)
			}
			lang := must(tree.Language("go"))(t)
			rules := slices.Concat(must(tree.Core())(t).Rules, lang.Rules, lang.Runtime("claude").Rules, must(tree.Team("t"))(t).Rules)
			got := map[string][]string{}
			for _, f := range rules {
				if len(f.About.Globs) > 0 {
					got[f.Rel] = f.About.Globs
				}
				again, _ := frontmatter.ReadRule(f.Text)
				if !cmp.Equal(again, f.About) {
					t.Errorf("%s: its text says %+v, its metadata %+v", f.Rel, again, f.About)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if c := lang.Neutral.Commands[0]; c.About.Kind != frontmatter.Always || strings.HasPrefix(string(c.Text), "---") {
				t.Errorf("a command was given a scope: %q", c.Text)
			}
		})
	}
}

func TestManifestCountsInTheDigest(t *testing.T) {
	digests := map[string]string{}
	for name, archive := range map[string]string{"none": "", "source": "-- bundle.json --\n{}\n", "bundle": "-- languages/go/bundle.json --\n{}\n"} {
		d := must(unpack(t, proseRules+archive).Digest())(t)
		if other, twice := digests[d]; twice {
			t.Errorf("%s and %s have one digest", name, other)
		}
		digests[d] = name
	}
}

func TestManifestErrorsNameFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		`{"scope": "globs"}`:               `bundle.json: unknown scope "globs"; write {"scope": "applies-to"}, or leave scope out`,
		"{\n\"scopes\": \"applies-to\"\n}": `bundle.json:3: unknown field "scopes"`,
		"{\n":                              `bundle.json:3: unexpected end`,
	} {
		_, err := unpack(t, "-- agent-rules/a.md --\n# A\n-- bundle.json --\n"+text+"\n").Core()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}
