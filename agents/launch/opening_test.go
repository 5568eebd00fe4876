package launch

import (
	"strings"
	"testing"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/catalog"
)

// An agent that no hook tells of the ledger is told by its first instruction, on
// one line; another one is not told twice.
func TestOpeningTellsOfLedger(t *testing.T) {
	for _, c := range []struct {
		name, runtime string
		hooked        bool
		ledger, want  bool
	}{
		{"hooks in the project", "codex", true, true, false},
		{"hooks are possible, and the project has none", "codex", false, true, true},
		{"a program without hooks", "goose", true, true, true},
		{"one that takes no instruction as an argument", "amp", true, true, true},
		{"no ledger", "goose", true, false, false},
	} {
		root := newProject(t)
		if c.ledger {
			if _, _, err := ledger.Init(root, "pi"); err != nil {
				t.Fatal(err)
			}
		}
		rt, ok := catalog.With(ownNothing).Runtime(c.runtime)
		if !ok {
			t.Fatal(c.runtime)
		}
		s := Plan(root, Decision{Role: Primary}, Choice{Runtime: rt, Label: c.runtime}, Program{Runtime: rt, Hooked: c.hooked}, nil)
		if got := strings.Contains(s.Opening, "share the ledger .pi-ensemble; your name there is in PI_ENSEMBLE_AGENT"); got != c.want || strings.Contains(s.Opening, "\n") {
			t.Errorf("%s: %q", c.name, s.Opening)
		}
		if told := strings.Contains(strings.Join(s.Command, " "), "share the ledger"); told != (c.want && !s.Type) {
			t.Errorf("%s: started with %q", c.name, s.Command)
		}
	}
}
