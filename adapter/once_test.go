package adapter

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// written applies declarations in an empty folder and returns the files.
func written(t *testing.T, decls []reconcile.Declaration) map[string]string {
	t.Helper()
	m := newMachine(t)
	for i := range decls {
		decls[i].Owner = reconcile.ProjectOwner(m.project)
	}
	m.apply(t, decls)
	out := map[string]string{}
	for _, name := range filesIn(t, m.project) {
		if b, err := os.ReadFile(filepath.Join(m.project, name)); err == nil && name != "aisync.lock" {
			out[name] = string(b)
		}
	}
	return out
}

// requests is what each program sends of a project's files before anybody has
// opened one: as measured with the programs of the real-program test, and, for
// amp and cursor, as their manuals say.
var requests = map[string]func(tree map[string]string) string{
	"amp":   func(tree map[string]string) string { return tree["AGENTS.md"] },
	"codex": func(tree map[string]string) string { return tree["AGENTS.md"] },
	"pi":    func(tree map[string]string) string { return cmp.Or(tree["AGENTS.md"], tree["CLAUDE.md"]) },
	"claude": func(tree map[string]string) string {
		if tree["CLAUDE.md"]+tree[".claude/CLAUDE.md"] == "" {
			return tree["AGENTS.md"] + below(tree, ".claude/rules", ".md")
		}
		return imported(tree, "CLAUDE.md") + imported(tree, ".claude/CLAUDE.md") + below(tree, ".claude/rules", ".md")
	},
	"gemini": func(tree map[string]string) string { return imported(tree, "GEMINI.md") },
	"opencode": func(tree map[string]string) string {
		s := cmp.Or(tree["AGENTS.md"], tree["CLAUDE.md"])
		if strings.Contains(tree["opencode.json"], `".opencode/rules/*.md"`) {
			s += below(tree, ".opencode/rules", ".md")
		}
		return s
	},
	"qwen": func(tree map[string]string) string {
		return tree["AGENTS.md"] + tree["QWEN.md"] + below(tree, ".qwen/rules", ".md")
	},
	"copilot": func(tree map[string]string) string {
		return tree["AGENTS.md"] + imported(tree, "CLAUDE.md") + tree["GEMINI.md"] + tree[".github/copilot-instructions.md"] +
			below(tree, ".claude/rules", ".md") + below(tree, ".github/instructions", ".instructions.md")
	},
	"cursor": func(tree map[string]string) string {
		return tree["AGENTS.md"] + tree["CLAUDE.md"] + below(tree, ".cursor/rules", ".mdc")
	},
}

func below(tree map[string]string, folder, suffix string) string {
	var s strings.Builder
	for name, text := range tree {
		if strings.HasPrefix(name, folder+"/") && strings.HasSuffix(name, suffix) {
			s.WriteString(text)
		}
	}
	return s.String()
}

// imported is a file with what its lines @other bring in.
func imported(tree map[string]string, name string) string {
	var s strings.Builder
	for line := range strings.Lines(tree[name]) {
		if other, ok := strings.CutPrefix(strings.TrimSpace(line), "@"); ok {
			s.WriteString(tree[path.Join(path.Dir(name), other)])
		}
		s.WriteString(line)
	}
	return s.String()
}

func TestEveryRuleReachesEveryProgramOnceInEverySetOfThem(t *testing.T) {
	src := source(t, "s", `
-- agent-rules/all.md --
# All

RULE-ALL
-- languages/a/common/rules/some.md --
---
paths: ["**/*.el"]
---
# Some

RULE-SOME
-- languages/a/CLAUDE.md --
# Notes
SEED-CLAUDE
`)
	var ids []string
	for _, rt := range catalog.Runtimes() {
		if requests[rt.ID] != nil {
			ids = append(ids, rt.ID)
		}
	}
	if len(ids) != len(requests) {
		t.Fatalf("not all of the programs are in the catalog: %q", ids)
	}
	var sets [][]string
	for i, a := range ids {
		sets = append(sets, []string{a})
		for _, b := range ids[i+1:] {
			sets = append(sets, []string{a, b})
		}
		sets = append(sets, []string{a, ids[(i+2)%len(ids)], ids[(i+5)%len(ids)]})
	}
	sets = append(sets, ids)
	for _, set := range sets {
		p := Project{Spec: &spec.Project{Name: "p", Dir: "/p", Sources: []spec.Source{src}}, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}}
		for _, id := range set {
			p.Spec.Runtimes = append(p.Spec.Runtimes, spec.Named{Value: id})
		}
		p.Spec.Bundles = []spec.BundleRef{{Source: "s", Name: "a"}}
		d, err := p.Declare(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range d.Notes {
			if n.Warning {
				t.Errorf("%q: warning: %s", set, n.Text)
			}
		}
		tree := written(t, d.Declarations)
		for _, id := range set {
			got := requests[id](tree)
			for _, marker := range []string{"RULE-ALL", "RULE-SOME"} {
				if n := strings.Count(got, marker); n != 1 {
					t.Errorf("%q: %s sees %s %d times, in %q", set, id, marker, n, slices.Sorted(maps.Keys(tree)))
				}
			}
		}
	}
}
