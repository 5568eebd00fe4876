package contextreport

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// machine is a project with notes that one program has twice, rules for two
// programs, and a skill for all but one.
func machine() loads.Machine {
	files := map[string]string{
		"/p/.git/HEAD":                         "",
		"/p/AGENTS.md":                         "# Notes\n\nSay why.\n",
		"/p/CLAUDE.md":                         "@AGENTS.md\n",
		"/p/.claude/rules/go.md":               "---\npaths: [\"**/*.go\"]\n---\n# Go\n",
		"/p/.cursor/rules/ask.mdc":             "---\ndescription: of asking\n---\n# Ask\n",
		"/p/.agents/skills/release/SKILL.md":   "---\nname: release\ndescription: how to release\n---\nDo it.\n",
		"/p/.claude/commands/push.md":          "Push.\n",
		"/h/.claude/CLAUDE.md":                 "# Mine\n",
		"/h/.config/opencode/AGENTS.md":        "# Mine\n",
		"/p/.github/instructions/a.txt":        "no rule",
		"/p/.agents/local-openai/rules/all.md": "# All\n",
	}
	p := &loads.Planned{Files: map[string][]byte{}}
	for name, text := range files {
		p.Files[name] = []byte(text)
	}
	return loads.Machine{Tree: p, Home: "/h", Trust: loads.Granted}
}

func question(only ...string) Question {
	return Question{
		Catalog: catalog.Runtimes(), Only: only, Machine: machine(), Start: "/p", Touched: []string{"/p/x.go"},
		Origin: func(path string) string {
			if strings.HasPrefix(path, "/p/.claude/rules/") {
				return "rules//go go.md, aisync.cue:4:2"
			}
			return ""
		},
		Model:   &Model{ID: "tiny", TokensPerSecond: 2},
		Budgets: []spec.ContextBudget{{Runtime: "claude", Max: 5, Text: "5", Pos: spec.Position{File: "aisync.cue", Line: 9, Col: 2}}},
	}
}

func TestReport(t *testing.T) {
	r, err := New(question("copilot", "claude", "local-openai"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	at := filepath.Join("testdata", "report.json")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(at, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run: UPDATE=1 go test ./app/contextreport\n%s", diff)
	}
}

func TestEveryProgramIsReported(t *testing.T) {
	r, err := New(question())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Programs) < 11 {
		t.Errorf("only %d programs", len(r.Programs))
	}
	for _, p := range r.Programs {
		sum := 0
		for _, e := range p.Loaded {
			sum += e.Total * e.Bytes
		}
		if p.AfterRead.Bytes != sum || p.AtStart.Bytes > sum {
			t.Errorf("%s: %d bytes, its entries have %d", p.ID, p.AfterRead.Bytes, sum)
		}
		for _, o := range p.Others {
			for _, by := range o.By {
				if by == p.ID {
					t.Errorf("%s has %s itself", p.ID, o.Path)
				}
			}
		}
	}
}

func TestAFolderThatIsNotAbsolute(t *testing.T) {
	q := question()
	q.Start = "p"
	if _, err := New(q); err == nil {
		t.Error("no error")
	}
}
