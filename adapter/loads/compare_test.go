package loads

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	rule := "---\npaths: ['*.go']\n---\n# Go\n"
	tests := map[string]struct {
		before, after map[string]string
		gone, come    []string
	}{
		"another file, another way": {
			before: map[string]string{"CLAUDE.md": "# A\n"}, after: map[string]string{"AGENTS.md": "# A\r\n", "CLAUDE.md": "@AGENTS.md\n"},
		},
		"a link in place of a text":   {before: map[string]string{"CLAUDE.md": "a"}, after: map[string]string{"AGENTS.md": "a", "CLAUDE.md": "-> AGENTS.md"}},
		"a text that is switched off": {before: map[string]string{"AGENTS.md": "a"}, after: map[string]string{"AGENTS.md": "a", "CLAUDE.md": "b"}, gone: []string{"AGENTS.md 1 1"}, come: []string{"CLAUDE.md 1 1"}},
		"a rule that loses its paths": {before: map[string]string{".claude/rules/go.md": rule}, after: map[string]string{".claude/rules/go.md": "# Go\n"}, gone: []string{"go 0 1"}, come: []string{"go 1 1"}},
		"a rule of another name":      {before: map[string]string{".claude/rules/go.md": rule}, after: map[string]string{".claude/rules/golang.md": rule}},
		"an older copy beside it":     {before: map[string]string{".claude/rules/go.md": rule}, after: map[string]string{".claude/rules/go.md": rule, "CLAUDE.md": "# Go, older\n"}, come: []string{"CLAUDE.md 1 1"}},
	}
	names := func(items []Item) (out []string) {
		for _, i := range items {
			out = append(out, fmt.Sprint(i.Name, " ", i.Start, " ", i.Total))
		}
		return out
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			of := func(files map[string]string) Result {
				r, err := Loads(program(t, "claude"), Machine{Tree: tree(files), Home: homeDir}, project, project+"/x.go")
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			gone, come := Compare(of(test.before), of(test.after))
			if diff := cmp.Diff([][]string{test.gone, test.come}, [][]string{names(gone), names(come)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompareCountsCopies(t *testing.T) {
	of := func(files map[string]string) Result {
		r, err := Loads(program(t, "copilot"), Machine{Tree: tree(files), Home: homeDir}, project)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one, two := of(map[string]string{"AGENTS.md": "a"}), of(map[string]string{"AGENTS.md": "a", "CLAUDE.md": "@AGENTS.md"})
	gone, come := Compare(one, two)
	if len(gone) != 0 || len(come) != 1 || come[0].Total != 1 {
		t.Errorf("gone %+v, come %+v", gone, come)
	}
}
