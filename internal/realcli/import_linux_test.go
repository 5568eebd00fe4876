package realcli

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/app/gather/gathertest"
)

// importedProjects are those of package gathertest that real programs are asked
// about, and programs that read their files: few, as each is asked twice.
var importedProjects = map[string][]string{
	"agents_alone":                     {"codex"},
	"claude_links_to_agents":           {"claude"},
	"generated_notes_and_scoped_rules": {"claude", "gemini"},
	"imports_in_notes":                 {"gemini"},
	"many_programs":                    {"claude", "codex", "gemini", "opencode"},
	"nested_notes":                     {"claude"},
	"opencode_agents_with_permission":  {"opencode"},
	"rules_that_are_links":             {"claude"},
	"skills_that_are_links":            {"codex", "opencode"},
	"three_equal_notes":                {"gemini"},
}

// What a program sends to its model of a project is the same before an import and
// after it is applied: each mark, as often.
func TestImportKeepsWhatProgramsSend(t *testing.T) {
	needWholeRun(t)
	projects := map[string]gathertest.Project{}
	for _, p := range gathertest.Projects(t) {
		projects[p.Name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(importedProjects)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ok := projects[name]
			if !ok {
				t.Fatal("there is no such project")
			}
			set := importedProjects[name]
			w := newWorld(t, scope{}, set)
			if err := os.Remove(filepath.Join(w.project, ".keep")); err != nil {
				t.Fatal(err)
			}
			p.Unpack(t, w.project, w.home, marking)
			w.aisync("apply", "--scope", "host", "--yes")
			before := w.sends(t)
			for id, seen := range before {
				if len(seen) == 0 {
					t.Errorf("%s sends nothing of the project, which proves nothing", id)
				}
			}
			w.aisync("import")
			w.aisync("apply", "--yes", "--trust")
			for id, seen := range w.sends(t) {
				if !maps.Equal(before[id], seen) {
					t.Errorf("%s sends %v, and %v before the import", id, seen, before[id])
				}
			}
			if t.Failed() {
				w.keep()
			}
		})
	}
}

// sends asks each program of the set, as one whom the person trusts, and returns
// the marks of its requests.
func (w *world) sends(t *testing.T) map[string]map[string]int {
	out := map[string]map[string]int{}
	for _, id := range w.set {
		w, p := w.with(t), lookUp(t, id)
		p.say = nil
		out[id] = mostOf(w.question(p, p.ask("Say a word.")))
	}
	return out
}

// marking adds a mark to a text that programs send: below a note or rule, and to the
// description of a skill, subagent or command. Equal texts get equal marks.
func marking(name string, text []byte) []byte {
	if ext := filepath.Ext(name); ext != ".md" && ext != ".mdc" {
		return text
	}
	m := mark("imported", fmt.Sprintf("%x", sha256.Sum256(text))[:12])
	if at := strings.Index(string(text), "\ndescription: "); at > 0 && strings.HasPrefix(string(text), "---\n") {
		at += len("\ndescription: ")
		return []byte(string(text[:at]) + "Of " + m + ", " + string(text[at:]))
	}
	return append(slices.Clone(text), "\nKeep to "+m+".\n"...)
}
