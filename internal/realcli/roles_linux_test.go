package realcli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Each program asks for the model that the spec has for what it does, and can be
// told of another by hand as the plan says.
func TestProgramsUseTheModelOfEachRole(t *testing.T) {
	needWholeRun(t)
	for _, c := range []struct {
		id   string
		argv []string // of the question; after the program's own
		want string   // all models that are asked for, sorted
	}{
		{"claude", nil, "coder"},
		{"claude", []string{"claude", "--model", "opus", "-p"}, "deep"},
		{"claude", []string{"claude", "--model", "haiku", "-p"}, "quick"},
		{"codex", nil, "coder"},
		{"codex", []string{"codex", "exec", "--skip-git-repo-check", "--profile", "small"}, "quick"},
		{"codex", []string{"codex", "review"}, "deep"},
		{"opencode", nil, "coder quick"}, // quick finds the title
		{"opencode", []string{"opencode", "run", "--model", "local/deep"}, "deep quick"},
		{"pi", []string{"pi", "--model", "quick", "-p"}, "quick"},
		{"qwen", []string{"qwen", "--model", "deep", "-p"}, "deep"},
	} {
		t.Run(strings.Join(append([]string{c.id}, c.argv...), " "), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, scope{}, []string{c.id})
			w.write(w.home, ".config/aisync/host.cue", `package aisync

hosts: here: {
	runtimes: "`+c.id+`": endpoint: true
	services: many: {
		kind: "external", url: "`+w.model.URL+`/v1", context: 200000, apis: ["chat", "responses", "messages"]
		models: ["coder", "quick", "deep"], roles: {small: "quick", large: "deep", review: "deep"}
	}
	endpoint: "many"
}
`)
			w.aisync("apply", "--yes")
			p := lookUp(t, c.id)
			argv := p.ask("Say a word.")
			if c.argv != nil {
				argv = append(c.argv, "Say a word.")
			}
			var models []string
			for _, q := range w.question(p, argv) {
				var asked struct{ Model string }
				if json.Unmarshal(q.Body, &asked) == nil && asked.Model != "" && !slices.Contains(models, asked.Model) {
					models = append(models, asked.Model)
				}
			}
			slices.Sort(models)
			if got := strings.Join(models, " "); got != c.want {
				t.Errorf("it asked for %q, want %q", got, c.want)
			}
		})
	}
}
