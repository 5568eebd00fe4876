package realcli

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryProgramLoadsEverythingOnce(t *testing.T) {
	needPrograms(t)
	for _, s := range []scope{{"host", true, false}, {"project", false, true}, {"both", true, true}} {
		t.Run(s.name, func(t *testing.T) {
			for _, set := range sets(s) {
				t.Run(setName(set), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, s, set)
					w.write(w.project, "AGENTS.md", "# Own\n\nKeep to "+mark("own", "agents")+".\n")
					t.Log(w.aisync("apply", "--yes", "--trust").out)
					for _, id := range set {
						t.Run(id, func(t *testing.T) { w.with(t).judge(id) })
					}
					w.inOrder()
				})
			}
		})
	}
	if flag.Lookup("test.run").Value.String() != "" {
		return // not everything ran
	}
	if err := compareProved(); err != nil {
		t.Error(err)
	}
}

// needPrograms skips a test where make test-runtimes is not what runs it.
func needPrograms(t *testing.T) {
	t.Helper()
	if binary == "" {
		t.Skip("make test-runtimes runs it")
	}
}

// sets are the sets of runtimes that files are rendered for: all of them, and,
// where both scopes have something, each alone and each two.
func sets(s scope) [][]string {
	all := everyone()
	out := [][]string{all}
	if !s.host || !s.project {
		return out
	}
	for i, a := range all {
		out = append(out, []string{a})
		for _, b := range all[i+1:] {
			out = append(out, []string{a, b})
		}
	}
	return out
}

func setName(set []string) string {
	if len(set) == len(Agents) {
		return "all"
	}
	return strings.Join(set, "+")
}

// judge asks id and compares what it sent with what the specs say.
func (w *world) judge(id string) {
	w.t.Helper()
	p := lookUp(w.t, id)
	seen := w.question(p, "Say a word.")
	known := map[string]bool{}
	for _, scope := range w.scopes() {
		at := p.User
		if scope == "project" {
			at = p.Project
		}
		// once wants each mark exactly once, and none of the others at all.
		once := func(part string, marks ...string) {
			right := true
			for _, what := range marks {
				m := mark(scope, what)
				known[m] = true
				if seen[m] != 1 {
					right = false
					w.t.Errorf("%s, %s: %s is there %d times, want 1", scope, part, m, seen[m])
				}
			}
			parts.add(id, scope, part, right)
		}
		rules := []string{"rule", "only" + id}
		if scope == "project" {
			rules = append(rules, "demo")
		}
		once("rules", rules...)
		once("instructions", "text"+id)
		once("skills", "skill")
		if seen[mark(scope, "body")] != 0 {
			w.t.Errorf("%s: the text of a skill is there before it was asked for", scope)
		}
		if at.MCP != nil {
			right := seen[mark(scope, "tool")] > 0
			parts.add(id, scope, "mcp", right)
			if !right {
				w.t.Errorf("%s: the tool of the MCP server is not among those of the model", scope)
			}
		}
		if p.Runtime.Hooks == "native" {
			_, err := os.Stat(filepath.Join(w.home, scope+"-hook"))
			parts.add(id, scope, "hooks", err == nil)
			if err != nil {
				w.t.Errorf("%s: its hook did not run", scope)
			}
		}
	}
	own := 1
	if id == "gemini" && !w.scope.project {
		own = 0 // it reads AGENTS.md only where its GEMINI.md imports it
	}
	if n := seen[mark("own", "agents")]; n != own {
		w.t.Errorf("the person's own AGENTS.md is there %d times, want %d", n, own)
	}
	for _, m := range slices.Sorted(maps.Keys(seen)) {
		if !known[m] && seen[m] > 1 && !strings.Contains(m, "tool") {
			w.t.Errorf("%s is there %d times", m, seen[m])
		}
	}
	w.t.Logf("saw %v", seen)
	if w.t.Failed() {
		w.keep()
	}
}

// keep copies what was written, for somebody who looks into a failure.
func (w *world) keep() {
	dir := os.Getenv("AISYNC_TEST_KEEP")
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, strings.ReplaceAll(w.t.Name(), "/", "_"))
	os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(w.home))); err != nil {
		w.t.Log(err)
	}
}

// inOrder wants that what the programs wrote into their own files is no
// difference to aisync.
func (w *world) inOrder() {
	w.t.Helper()
	for _, args := range [][]string{{"plan", "--detailed-exitcode"}, {"drift", "--scope", "all"}} {
		if r := w.try(w.project, nil, append([]string{"aisync"}, args...)...); r.code != 0 {
			w.t.Errorf("aisync %s, after the programs ran: exit code %d\n%s", strings.Join(args, " "), r.code, r.out)
		}
	}
}
