package stack_test

import (
	"strings"
	"testing"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/reconcile"
)

const budgetSpec = "package aisync\n\nproject: {name: \"p\", runtimes: [\"claude\"], sources: rules: \"../rules\", bundles: [\"rules//x\"]\n\tcontext: claude: max: MAX\n}\n"

// budgetNotes returns the notes of a plan about the budget max.
func budgetNotes(t *testing.T, max string, files map[string]string) []reconcile.Note {
	t.Helper()
	all := map[string]string{stacktest.ProjectSpec: strings.Replace(budgetSpec, "MAX", max, 1)}
	for name, text := range files {
		all[name] = text
	}
	p, err := stacktest.New(t, all).Open().Plan(t.Context(), stack.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var out []reconcile.Note
	for _, n := range p.Notes {
		if strings.Contains(n.Text, "budget") {
			out = append(out, n)
		}
	}
	return out
}

func TestPlanChecksBudgetsAfterIt(t *testing.T) {
	rule := "# X\n" + strings.Repeat("word ", 200) // 1004 bytes that the plan will write
	own := strings.Repeat("note ", 100)            // 500 bytes that are there
	files := map[string]string{stacktest.Rule: rule, "p/CLAUDE.md": own}
	notes := budgetNotes(t, "375", files)
	if len(notes) != 1 || !notes[0].Warning {
		t.Fatalf("%v", notes)
	}
	for _, want := range []string{
		"claude loads about 376 tokens at its start here, and its budget is 375",
		".claude/rules/x.md (1.0 kB, from ../rules/languages/x/common/rules/x.md, aisync.cue:3:", "CLAUDE.md (500 B)",
		"aisync context claude",
	} {
		if !strings.Contains(notes[0].Text, want) {
			t.Errorf("no %q in %q", want, notes[0].Text)
		}
	}
	if got := notes[0].Origin; len(got) != 1 || got[0].Line != 4 {
		t.Errorf("origin %v", got)
	}
	if notes := budgetNotes(t, "376", files); len(notes) != 0 {
		t.Errorf("%v", notes)
	}
}

// A rule that the plan removes counts no more.
func TestBudgetsDoNotCountWhatGoes(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.Rule: "# X\n" + strings.Repeat("word ", 200)})
	s.Apply()
	s.Remove(stacktest.Rule)
	s.Write("rules/languages/x/common/rules/y.md", "# Y\n")
	s.Write(stacktest.ProjectSpec, strings.Replace(budgetSpec, "MAX", "5", 1))
	p, err := s.Open().Plan(t.Context(), stack.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Notes {
		if strings.Contains(n.Text, "budget") {
			t.Errorf("%q", n.Text)
		}
	}
}
