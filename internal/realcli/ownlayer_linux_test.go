package realcli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What one person adds in aisync.local.cue reaches each program that has a place
// for it that git does not carry, once, and no other program; what everyone has of
// the project stays as it was, and git sees nothing of it.
func TestOwnLayerReachesProgramsOnce(t *testing.T) {
	needWholeRun(t)
	has := map[string][]string{ // by the part
		"rule":  {"claude", "continue-cli", "copilot", "kilo", "opencode", "qwen"},
		"skill": slices.DeleteFunc(everyone(), func(id string) bool { return inTests[id].skill != nil }), // the model of the others is told its name alone
		"agent": {"claude", "cline", "codex", "copilot", "kilo", "opencode", "qwen"},                     // gemini asks its user first
		"tool":  {"claude", "kilo", "opencode"},                                                          // the others have one file of servers, which is everyone's
	}
	for _, set := range [][]string{everyone(), {"claude"}, {"opencode"}, {"claude", "codex", "opencode"}, {"qwen"}} {
		t.Run(setName(set), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, scope{"project", false, true}, set)
			w.aisync("apply", "--yes", "--trust")
			marksOf := func(id string) map[string]int {
				p := lookUp(t, id)
				return mostOf(w.question(p, p.ask("Say a word.")))
			}
			before := map[string]map[string]int{}
			for _, id := range set {
				before[id] = marksOf(id)
			}
			w.run(w.project, nil, "git", "add", "-A")
			w.run(w.project, nil, "git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "1")
			x := filepath.Join(w.home, "mine/languages/x")
			w.write(x, "rules/mine.md", "# Mine\n\nKeep to "+mark("mine", "rule")+".\n")
			w.write(x, "skills/own-look/SKILL.md", "---\nname: own-look\ndescription: Use it for "+mark("mine", "skill")+".\n---\n\n# Look\n")
			w.write(x, "common/agents/own-judge.md", "---\nname: own-judge\ndescription: Judges "+mark("mine", "agent")+".\n---\n\nYou judge what you are shown.\n")
			server := "" // for the programs that can have it
			if takes := slices.DeleteFunc(slices.Clone(set), func(id string) bool { return !slices.Contains(has["tool"], id) }); len(takes) > 0 {
				server = "\tmcp: " + strings.Replace(w.mcp("mine"), "{", "{runtimes: ["+strings.Join(each(takes, "%q"), ", ")+"], ", 1) + "\n"
			}
			w.write(w.project, "aisync.local.cue", "package aisync\n\nproject: {\n\tsources: mine: \"~/mine\"\n\tbundles: [\"mine//x\"]\n"+server+"}\n")
			w.aisync("apply", "--yes", "--trust")
			if out := w.run(w.project, nil, "git", "status", "--porcelain", "--untracked-files=all").out; out != "" {
				t.Errorf("git sees %s", out)
			}
			for _, id := range set {
				seen := marksOf(id)
				for part, who := range has {
					want := 0
					if slices.Contains(who, id) {
						want = 1
					}
					m := mark("mine", part)
					if got := seen[m]; got != want && !(part == "tool" && got > 0 && want == 1) {
						t.Errorf("%s has the person's %s %d times, want %d", id, part, got, want)
					}
					delete(seen, m)
				}
				if !maps.Equal(seen, before[id]) {
					t.Errorf("%s has %v of the project, and without the layer %v", id, seen, before[id])
				}
			}
			if err := os.Remove(filepath.Join(w.project, "aisync.local.cue")); err != nil {
				t.Fatal(err)
			}
			w.aisync("apply", "--yes", "--trust")
			for _, id := range set {
				if seen := marksOf(id); !maps.Equal(seen, before[id]) {
					t.Errorf("%s has %v after the layer, and had %v before", id, seen, before[id])
				}
			}
		})
	}
}
