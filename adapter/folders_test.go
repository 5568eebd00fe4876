package adapter

import (
	"context"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

const folderBundles = `
-- agent-rules/core.md --
# Core

Of all.
-- languages/go/common/rules/style.md --
# Style

Of Go.
-- languages/go/common/rules/asked.md --
---
description: "releasing"
alwaysApply: false
---
# Asked

Of releases.
-- languages/go/claude/instructions.md --
Text for claude.
-- languages/go/common/AGENTS.md --
First content.
-- languages/go/common/skills/look/SKILL.md --
---
name: look
description: Looks
---
# Look
-- languages/go/gitignore-add.txt --
bin/
`

// ofFolders are the targets that a project declares for places, with their bodies'
// first leaf, and the texts of its notes.
func ofFolders(t *testing.T, whole []string, places ...spec.Place) (targets, notes []string) {
	t.Helper()
	src := source(t, "s", folderBundles)
	p := Project{
		Spec:     &spec.Project{Name: "p", Dir: t.TempDir(), Sources: []spec.Source{src}, Runtimes: []spec.Named{{Value: "claude"}, {Value: "cursor"}}, Places: places},
		Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{},
	}
	for _, name := range whole {
		p.Spec.Bundles = append(p.Spec.Bundles, spec.BundleRef{Source: "s", Name: name})
	}
	d, err := p.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range d.Declarations {
		targets = append(targets, strings.TrimPrefix(string(decl.Target), "file:"))
	}
	for _, n := range d.Notes {
		notes = append(notes, n.Text)
	}
	return targets, notes
}

func placeOf(folder string, names ...string) spec.Place {
	at := spec.Place{Folder: folder}
	for _, name := range names {
		at.Bundles = append(at.Bundles, spec.BundleRef{Source: "s", Name: name})
	}
	return at
}

func TestRulesOfFolders(t *testing.T) {
	tests := map[string]struct {
		whole      []string
		places     []spec.Place
		want, miss []string // targets
		note       string
	}{
		"one folder": {
			places: []spec.Place{placeOf("a/b", "go")},
			want:   []string{".claude/rules/a/b/style.md", ".claude/rules/a/b/core.md", ".claude/rules/a/b/instructions.md", ".cursor/rules/a/b/style.mdc", ".cursor/rules/a/b/asked.mdc", ".claude/skills/look/SKILL.md"},
			miss:   []string{"a/b/AGENTS.md", ".claude/rules/style.md"},
			note:   "AGENTS.md of s//go is not used: a folder's notes are yours to write",
		},
		"the core is the whole project's": {
			whole: []string{"."}, places: []spec.Place{placeOf("a", "go")},
			want: []string{".claude/rules/a/style.md"}, miss: []string{".claude/rules/a/core.md"},
		},
		"two folders share a file": {
			places: []spec.Place{placeOf("a", "go"), placeOf("b", "go")},
			want:   []string{".claude/rules/a/style.md"}, miss: []string{".claude/rules/b/style.md", ".cursor/rules/b/style.mdc"},
		},
		"a folder in another": {
			places: []spec.Place{placeOf("a", "go"), placeOf("a/b", "go")},
			want:   []string{".claude/rules/a/style.md"}, miss: []string{".claude/rules/a/b/style.md"},
			note: "s//go is left out for a/b alone: a has it",
		},
		"the whole project has it": {
			whole: []string{"go"}, places: []spec.Place{placeOf("a", "go")},
			miss: []string{".claude/rules/a/style.md"}, note: "s//go is left out for a alone: the whole project has it",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			targets, notes := ofFolders(t, test.whole, test.places...)
			for _, w := range test.want {
				if !slices.Contains(targets, w) {
					t.Errorf("no %s in %q", w, targets)
				}
			}
			for _, m := range test.miss {
				if slices.Contains(targets, m) {
					t.Errorf("%s is there", m)
				}
			}
			if test.note != "" && !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, test.note) }) {
				t.Errorf("no note %q in %q", test.note, notes)
			}
		})
	}
}
