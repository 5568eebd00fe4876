package adapter

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// lawful are the texts of lawSource, by when a program has them.
var lawful = map[string]string{
	"ALWAYS": "start", "SECOND": "start", "SCOPED": "scoped", "ON-REQUEST": "list",
}

const lawSource = `
-- agent-rules/all.md --
# All

ALWAYS holds everywhere.
-- agent-rules/second.md --
# Second

SECOND holds everywhere too.
-- languages/a/common/rules/some.md --
---
paths:
  - "**/*.el"
---
# Some

SCOPED is for Lisp.
-- languages/a/CLAUDE.md --
# Notes

SEED is the first content of the notes.
-- languages/a/common/rules/asked.md --
---
description: "releasing"
alwaysApply: false
---
# Asked

ON-REQUEST is for releases.
`

// lawProject is a project on disk with the person's files, as it is after a set
// of runtimes was applied.
func lawProject(t *testing.T, src spec.Source, person map[string]string, set []string, places ...spec.Place) (loads.Tree, string, Decls) {
	t.Helper()
	m := newMachine(t)
	for name, text := range person {
		at := filepath.Join(m.project, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(to, at)
		} else {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(m.project, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	var d Decls
	for range 2 { // the second time with what the first one wrote
		notes, err := ReadNotes(m.project, catalog.Runtimes(), (&spec.Project{Places: places}).Folders()...)
		if err != nil {
			t.Fatal(err)
		}
		p := Project{Spec: &spec.Project{Name: "p", Dir: m.project, Sources: []spec.Source{src}}, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}, Notes: notes}
		for _, id := range set {
			p.Spec.Runtimes = append(p.Spec.Runtimes, spec.Named{Value: id})
		}
		p.Spec.Bundles, p.Spec.Places = []spec.BundleRef{{Source: "s", Name: "a"}}, places
		if d, err = p.Declare(context.Background()); err != nil {
			t.Fatal(err)
		}
		if s := m.apply(t, d.Declarations); s.Update+s.Delete > 0 && len(person) == 0 {
			t.Errorf("%q: the second apply changes what the first one wrote: %+v", set, s)
		}
	}
	tree, ok := os.DirFS("/").(loads.Tree)
	if !ok {
		t.Fatal("os.DirFS is no Tree")
	}
	return tree, m.project, d
}

// delivery is what a program has of the law's texts, and of the person's.
func delivery(t *testing.T, tree loads.Tree, dir, id string, person map[string]string) map[string]string {
	t.Helper()
	all := catalog.Runtimes()
	rt := all[slices.IndexFunc(all, func(r spec.Runtime) bool { return r.ID == id })]
	run := *program(&rt, all)
	r, err := loads.Loads(run, loads.Machine{Tree: tree, Home: "/nowhere", Trust: loads.Granted}, dir, path.Join(dir, "x/a.el"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	count := func(name, text string) {
		start, total := 0, 0
		for _, i := range r.Items {
			if n := strings.Count(string(i.Text), text); n > 0 {
				start, total = start+n*i.Start, total+n*i.Total
			}
		}
		got[name] = fmt.Sprintf("%d at the start, %d after", start, total)
	}
	for marker := range lawful {
		count(marker, marker)
	}
	for _, i := range r.Items {
		if i.When == loads.OnRequest && i.Name == "asked" {
			got["ON-REQUEST"] = "on request"
		}
	}
	var whole strings.Builder
	for _, i := range r.Items {
		if i.Start > 0 {
			whole.Write(i.Text)
		}
	}
	for marker, file := range map[string]string{"SCOPED": "some.md", "ON-REQUEST": "asked.md"} {
		if got[marker] != "0 at the start, 0 after" {
			continue
		}
		for line := range strings.Lines(whole.String()) {
			if name, _, ok := strings.Cut(line, "If your program has not given you this rule already, read `"); ok && name == "- " && strings.Contains(line, strings.TrimSuffix(file, ".md")) {
				named := strings.Split(line, "`")[1]
				if text, err := fs.ReadFile(tree, strings.TrimPrefix(path.Join(dir, named), "/")); err == nil && strings.Contains(string(text), marker) {
					got[marker] = "named"
				}
			}
		}
	}
	for name, text := range person {
		if !strings.HasPrefix(text, "-> ") {
			count(name, strings.TrimSpace(text))
		}
	}
	return got
}

// allowed are the differences that a program makes itself. By its manual, cursor
// reads both AGENTS.md and CLAUDE.md, also where a person linked them. copilot
// and grok read Claude's folder of rules too: there Claude does not stay apart from
// AGENTS.md, else they had the rules twice. grok reads Claude's folder of rules
// without regard to the files that they are for, so it has them from the start.
func allowed(id, what, is string, set []string, person map[string]string) bool {
	linked, both := person["CLAUDE.md"] == "-> AGENTS.md", person["CLAUDE.md"] != "" && person["AGENTS.md"] != ""
	return id == "cursor" && linked && is == "2 at the start, 2 after" ||
		id == "claude" && what == "AGENTS.md" && both && (slices.Contains(set, "copilot") || slices.Contains(set, "grok")) && is == "1 at the start, 1 after" ||
		id == "grok" && (what == "SCOPED" || what == "LISP-OF-B") && slices.Contains(set, "claude") && is == "1 at the start, 1 after"
}

// waits reports whether a row says that a program waits for its rules.
func waits(d Decls, id string) bool {
	return slices.ContainsFunc(d.Unsupported, func(u reconcile.Unsupported) bool {
		who, _, ok := strings.Cut(u.Reason, " wait")
		return ok && slices.Contains(strings.Split(who, ", "), id)
	})
}

func lawfulRuntimes() []string {
	var ids []string
	for _, rt := range catalog.Runtimes() {
		all := catalog.Runtimes()
		if program(&rt, all).Loads != nil {
			ids = append(ids, rt.ID)
		}
	}
	return ids
}

// A program has the same rules and notes, as often and at the same time,
// whichever other programs are in the list with it.
func TestLawOfDelivery(t *testing.T) {
	const memory = "/dev/shm" // a thousand applies wait for no disk there
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", memory)
	}
	ids := lawfulRuntimes()
	src := source(t, "s", lawSource)
	persons := map[string]map[string]string{
		"nothing":        {},
		"claude's notes": {"CLAUDE.md": "PERSON wrote this for Claude.\n"},
		"common notes":   {"AGENTS.md": "PERSON wrote this for all.\n"},
		"a link":         {"AGENTS.md": "PERSON wrote this for all.\n", "CLAUDE.md": "-> AGENTS.md"},
		"both":           {"AGENTS.md": "PERSON wrote this for all.\n", "CLAUDE.md": "OWNER wrote this for Claude.\n"},
		"gemini's notes": {"GEMINI.md": "PERSON wrote this for Gemini.\n"},
	}
	r := rand.New(rand.NewPCG(19, 1))
	for _, name := range slices.Sorted(maps.Keys(persons)) {
		person := persons[name]
		t.Run(name, func(t *testing.T) {
			alone := map[string]map[string]string{}
			for _, id := range ids {
				tree, dir, d := lawProject(t, src, person, []string{id})
				alone[id] = delivery(t, tree, dir, id, person)
				for marker, when := range lawful {
					got := alone[id][marker]
					ok := when == "start" && got == "1 at the start, 1 after" ||
						when != "start" && (got == "named" || got == "0 at the start, 1 after") ||
						when == "list" && (id == "cursor" || id == "copilot") && got == "on request"
					if !ok && !waits(d, id) {
						t.Errorf("%s alone: %s: %s", id, marker, got)
					}
				}
			}
			var sets [][]string
			for _, a := range ids {
				for _, b := range ids {
					if a != b {
						sets = append(sets, []string{a, b})
					}
				}
			}
			n := 500 / len(persons)
			if testing.Short() {
				sets, n = sets[:len(ids)], 10
			}
			for range n {
				set := slices.DeleteFunc(slices.Clone(ids), func(string) bool { return r.IntN(2) == 0 })
				r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
				sets = append(sets, set)
			}
			for _, set := range sets {
				tree, dir, d := lawProject(t, src, person, set)
				for _, id := range set {
					is := delivery(t, tree, dir, id, person)
					for what, was := range alone[id] {
						if is[what] == was || allowed(id, what, is[what], set, person) || lawful[what] != "" && waits(d, id) {
							continue
						}
						t.Errorf("%q: %s has %s %s; alone %s", set, id, what, is[what], was)
					}
				}
			}
		})
	}
}
