package contextreport

import (
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/catalog"
)

func TestLoadChangesNamesMoreAndLess(t *testing.T) {
	now := &loads.Planned{Files: map[string][]byte{"/p/.git/HEAD": nil, "/p/CLAUDE.md": []byte("Be brief.\n")}}
	then := &loads.Planned{Base: now, Files: map[string][]byte{"/p/AGENTS.md": []byte("Be exact.\n")}, Removed: []string{"/p/CLAUDE.md"}}
	machine := func(t loads.Tree) loads.Machine { return loads.Machine{Tree: t, Home: "/h", Trust: loads.Granted} }
	short := func(p string) string { return strings.TrimPrefix(p, "/p/") }
	changes, err := LoadChanges(catalog.Runtimes(), machine(now), machine(then), "/p", short)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]LoadChange{}
	for _, c := range changes {
		seen[c.Program] = c
	}
	if c := seen["codex"]; len(c.More) != 1 || c.More[0].Name != "AGENTS.md" || len(c.More[0].From) != 1 || c.More[0].From[0] != "AGENTS.md" || len(c.Less) != 0 {
		t.Errorf("codex: %+v", c)
	}
	if c := seen["claude"]; len(c.Less) != 1 || c.Less[0].From[0] != "CLAUDE.md" {
		t.Errorf("claude: %+v", c)
	}
	if same, err := LoadChanges(catalog.Runtimes(), machine(now), machine(now), "/p", short); err != nil || same == nil || len(same) > 0 {
		t.Errorf("the same tree twice: %v, %v", same, err)
	}
}
