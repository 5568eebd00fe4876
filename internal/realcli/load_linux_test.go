package realcli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestProgramsLoadEverythingOnce(t *testing.T) {
	needPrograms(t)
	scopes := []scope{{"host", true, false}, {"project", false, true}, {"both", true, true}}
	if testing.Short() {
		scopes = scopes[2:]
	}
	for _, s := range scopes {
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
}

// What a person wrote in those files before stays, is read, and does not keep
// out what the specs ask for; and it is all that is there in the end.
func TestPersonsFilesAreRead(t *testing.T) {
	needWholeRun(t)
	own := map[string]string{}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md"} {
		own[name] = "# Mine\n\nKeep to " + mark("own", strings.ToLower(strings.TrimSuffix(name, ".md"))) + ".\n"
	}
	for _, set := range [][]string{everyone(), {"claude"}, {"claude", "copilot"}, {"claude", "codex"}, {"gemini"}, {"qwen"}} {
		t.Run(setName(set), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, scope{"both", true, true}, set)
			for name, text := range own {
				w.write(w.project, name, text)
			}
			w.aisync("apply", "--yes", "--trust")
			for _, id := range set {
				t.Run(id, func(t *testing.T) { w.with(t).judge(id) })
			}
			w.inOrder()
			w.aisync("destroy", "--scope", "project", "--yes")
			for name, text := range own {
				if got, err := os.ReadFile(filepath.Join(w.project, name)); err != nil || string(got) != text {
					t.Errorf("%s is not what it was (error %v):\n%s", name, err, got)
				}
			}
		})
	}
}

// needPrograms skips a test where make test-runtimes is not what runs it.
func needPrograms(t *testing.T) {
	t.Helper()
	if binary == "" {
		t.Skip("make test-runtimes runs it")
	}
}

// needWholeRun skips a test that the short form of make test-runtimes leaves out.
func needWholeRun(t *testing.T) {
	t.Helper()
	needPrograms(t)
	if testing.Short() {
		t.Skip("left out with -short")
	}
}

// sets are the sets of runtimes that files are rendered for: all of them, and,
// where both scopes have something, each alone, and in every way each two; with -short
// all of them only.
func sets(s scope) [][]string {
	all := everyone()
	out := [][]string{all}
	if !s.host || !s.project || testing.Short() {
		return out
	}
	for i, a := range all {
		out = append(out, []string{a})
		for _, b := range all[i+1:] {
			if everyWay {
				out = append(out, []string{a, b})
			}
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
	found := map[string]int{}
	for _, scope := range w.scopes() {
		if p.find != nil {
			m := mark(scope, "tool")
			found[m] = mostOf(w.use(p, p.find(scope+"srv")))[m]
		}
	}
	for _, scope := range w.scopes() {
		w.ran(scope, "start")
	}
	seen := mostOf(w.question(p, p.ask("Say a word.")))
	maps.Copy(seen, found)
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
			parts.add(w.t, id, scope, part, right)
		}
		rules := []string{"rule", "only" + id}
		if scope == "project" {
			rules = append(rules, "demo")
		}
		once("rules", rules...)
		if len(at.Instructions) > 0 {
			once("instructions", "text"+id)
		} else { // a file of rules has them
			once("rules", "text"+id)
		}
		if p.skill == nil {
			once("skills", "skill")
		}
		if seen[mark(scope, "body")] != 0 {
			w.t.Errorf("%s: the text of a skill is there before it was asked for", scope)
		}
		if at.MCP != nil {
			right := seen[mark(scope, "tool")] > 0
			parts.add(w.t, id, scope, "mcp", right)
			if !right {
				w.t.Errorf("%s: the tool of the MCP server is not among those of the model", scope)
			}
		}
		if at.Agents != nil {
			once("subagents", "agent")
		}
		if at.Events != nil {
			n := w.ran(scope, "start")
			parts.add(w.t, id, scope, "hooks", n == 1)
			if n != 1 {
				w.t.Errorf("%s: its hook of SessionStart ran %d times, want 1", scope, n)
			}
		}
	}
	if p.skill != nil {
		for _, scope := range w.scopes() {
			n := w.takes(p, scope+"-look", mark(scope, "body"))
			parts.add(w.t, id, scope, "skills", n == 1)
			if n != 1 {
				w.t.Errorf("%s: the model took the skill, and its text is there %d times, want 1", scope, n)
			}
			w.ran(scope, "start")
		}
	}
	if len(p.User.Endpoint)+len(p.Launch.Endpoint) > 0 {
		parts.add(w.t, id, "host", "endpoint", len(seen) > 0)
	}
	// Without trust it would have left these out. Claude Code does not ask for any
	// without a person to answer: its list of servers proves that elsewhere.
	if w.scope.project && len(p.User.Trust) > 0 && id != "claude" {
		proof := mark("project", "tool")
		if p.Project.MCP == nil {
			proof = mark("project", "skill")
		}
		parts.add(w.t, id, "host", "trust", seen[proof] > 0)
	}
	for m, want := range w.own(id) {
		if seen[m] != want {
			w.t.Errorf("the person's own file with %s is there %d times, want %d", m, seen[m], want)
		}
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

// own is how often id reads what a person wrote: its own instruction file, and
// AGENTS.md, which claude and gemini read only where nothing else is in their own
// files or where those import it.
func (w *world) own(id string) map[string]int {
	there := func(name string) bool {
		b, err := os.ReadFile(filepath.Join(w.project, name))
		return err == nil && marks(string(b))[mark("own", strings.ToLower(strings.TrimSuffix(name, ".md")))] > 0
	}
	want := map[string]int{mark("own", "agents"): 1}
	for name, readers := range map[string][]string{"CLAUDE.md": {"claude", "copilot"}, "GEMINI.md": {"gemini", "copilot"}, "QWEN.md": {"qwen"}} {
		if there(name) && slices.Contains(readers, id) {
			want[mark("own", strings.ToLower(strings.TrimSuffix(name, ".md")))] = 1
		}
	}
	switch {
	case id == "gemini" && !w.scope.project, id == "claude" && there("CLAUDE.md") && (!w.shares() || !slices.Contains(w.set, "copilot")): // it stays apart
		want[mark("own", "agents")] = 0
	}
	return want
}

// shares reports whether AGENTS.md holds anything of aisync's.
func (w *world) shares() bool {
	b, err := os.ReadFile(filepath.Join(w.project, "AGENTS.md"))
	return err == nil && len(marks(string(b))) > 1
}

// keep copies what was written, to examine a failure.
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
