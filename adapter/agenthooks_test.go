package adapter

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/coordination"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// withLedger applies a project with a ledger, or without one.
func withLedger(t *testing.T, m *machine, on bool, set ...string) Decls {
	t.Helper()
	p := Project{Spec: &spec.Project{Name: "p", Dir: m.project}, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}}
	p.Spec.Agents.Ledger.On = on
	for _, id := range set {
		p.Spec.Runtimes = append(p.Spec.Runtimes, spec.Named{Value: id})
	}
	d, err := p.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	m.apply(t, d.Declarations)
	return d
}

// foundSkills returns the skills of the ledger that a program finds in the
// project, by their paths.
func foundSkills(t *testing.T, dir string, rt spec.Runtime) (found []string) {
	t.Helper()
	for _, folder := range append([]string{rt.Project.Skills}, rt.Project.SkillsAlso...) {
		at := filepath.Join(folder, "aisync-agents/SKILL.md")
		if _, err := os.Stat(filepath.Join(dir, at)); err == nil && folder != "" {
			found = append(found, at)
		}
	}
	return found
}

// Every program that loads skills finds the ledger's skill, whichever others are
// in the list; one that loads none is named; and the skill goes with the ledger.
func TestLedgerSkillReachesEveryProgram(t *testing.T) {
	all := catalog.Runtimes()
	for _, rt := range all {
		for _, other := range all {
			m := newMachine(t)
			set := []string{rt.ID}
			if other.ID != rt.ID {
				set = append(set, other.ID)
			}
			d := withLedger(t, m, true, set...)
			can := rt.Project.Skills != ""
			noted := slices.ContainsFunc(d.Notes, func(n reconcile.Note) bool {
				who, ok := strings.CutPrefix(n.Text, "the skills of agents: ledger (aisync-agents) are not for ")
				who, _, _ = strings.Cut(who, ", which loads")
				return ok && slices.Contains(strings.Split(who, ", "), rt.ID)
			})
			found := foundSkills(t, m.project, rt)
			if can != (len(found) > 0) || can == noted {
				t.Errorf("%q: %s finds %q, and a note names it: %t", set, rt.ID, found, noted)
			}
			if len(set) == 1 && len(found) > 1 {
				t.Errorf("%s alone finds it more than once: %q", rt.ID, found)
			}
			withLedger(t, m, false, set...)
			if left := foundSkills(t, m.project, rt); len(left) > 0 {
				t.Errorf("%q: without a ledger %q is left", set, left)
			}
		}
	}
}

// The skill has what programs find a skill by, and is short.
func TestLedgerSkillIsASkill(t *testing.T) {
	s := coordination.Skill()
	text := s.Files[0].Embedded
	front, _, _, err := frontmatter.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := frontmatter.Parse(front)
	if err != nil || fields.Text("name") != s.Name || fields.Text("description") == "" {
		t.Errorf("front matter: %v %v", fields, err)
	}
	if len(text) > 2500 {
		t.Errorf("%d bytes", len(text))
	}
}
