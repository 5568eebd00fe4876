package realcli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/internal/fakemodel"
)

// trees are projects that people make by hand: what programs have of them is
// measured here again, beside all that aisync wrote into the home for every
// program. A text that starts with "-> " is a link.
var trees = map[string]map[string]string{
	"notes": {"AGENTS.md": "# A\n\nKeep to {agents}.\n"},
	"notes of two programs, one imports": {
		"AGENTS.md": "# A\n\nKeep to {agents}.\n", "CLAUDE.md": "# C\n\nKeep to {claude}.\n\n@AGENTS.md\n", "GEMINI.md": "See @AGENTS.md and {gemini}.\n", "QWEN.md": "`@AGENTS.md` {qwen}\n",
	},
	"links": {"docs/notes.md": "# A\n\nKeep to {agents}.\n", "AGENTS.md": "-> docs/notes.md", "CLAUDE.md": "-> AGENTS.md", "GEMINI.md": "-> AGENTS.md", "QWEN.md": "-> AGENTS.md"},
	"notes of two programs, a link beside one's, started in sub": {
		"AGENTS.md": "# A\n\nKeep to {agents}.\n", "CLAUDE.md": "# C\n\nKeep to {claude}.\n", ".claude/CLAUDE.md": "-> ../AGENTS.md", "sub/.keep": "",
	},
	"notes of two programs, a link beside one's": {
		"AGENTS.md": "# A\n\nKeep to {agents}.\n", "CLAUDE.md": "# C\n\nKeep to {claude}.\n", ".claude/CLAUDE.md": "-> ../AGENTS.md",
	},
	"a program's notes alone": {"CLAUDE.md": "# C\n\nKeep to {claude}.\n"},
	"rules, links and nested notes": {
		"AGENTS.md": "# A\n\nKeep to {agents}.\n", "sub/AGENTS.md": "# S\n\nKeep to {sub}.\n", "sub/CLAUDE.md": "# S\n\nKeep to {subclaude}.\n",
		".claude/rules/always.md": "# R\n\nKeep to {always}.\n", ".claude/rules/zig.md": "---\npaths: [\"**/*.zig\"]\n---\n# Z\n\nKeep to {zig}.\n",
		".qwen/rules/link.md": "-> ../../docs/linked.md", "docs/linked.md": "# L\n\nKeep to {linked}.\n", ".qwen/rules/zig.md": "---\npaths: [\"sub/*.zig\"]\n---\n# Z\n\nKeep to {qwenzig}.\n",
		".github/instructions/zig.instructions.md":  "---\napplyTo: \"sub/**\"\n---\n# Z\n\nKeep to {copilotzig}.\n",
		".github/instructions/free.instructions.md": "---\ndescription: Of asking\n---\n# F\n\nKeep to {copilotfree}.\n", ".github/instructions/none.instructions.md": "# N\n\nKeep to {copilotnone}.\n",
		".agents/skills/s/SKILL.md": "---\nname: s\ndescription: Use it for {skill}.\n---\n# Look\n",
	},
}

// What loads says a program has, the program sends to its model: of what aisync
// wrote for every program, and of what people make by hand.
func TestLoadsAgreesWithPrograms(t *testing.T) {
	needWholeRun(t)
	t.Run("written", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, scope{"both", true, true}, everyone())
		for _, name := range []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md"} {
			w.write(w.project, name, "# Mine\n\nKeep to "+mark("own", strings.ToLower(strings.TrimSuffix(name, ".md")))+".\n")
		}
		w.aisync("apply", "--yes", "--trust")
		w.agree(t)
	})
	for name, files := range trees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, scope{"host", true, false}, everyone())
			w.aisync("apply", "--yes", "--trust")
			_, w.start, _ = strings.Cut(name, ", started in ")
			for file, text := range files {
				to, link := strings.CutPrefix(text, "-> ")
				for _, what := range []string{"agents", "claude", "gemini", "qwen", "sub", "subclaude", "always", "zig", "linked", "qwenzig", "copilotzig", "copilotfree", "copilotnone", "skill"} {
					text = strings.ReplaceAll(text, "{"+what+"}", mark("own", what))
				}
				if !link {
					w.write(w.project, file, text)
					continue
				}
				at := filepath.Join(w.project, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, at); err != nil {
					t.Fatal(err)
				}
			}
			w.agree(t)
		})
	}
}

// agree asks each program, which reads sub/x.zig where it has a tool for that,
// and compares the marks of texts and skills with what loads says.
func (w *world) agree(t *testing.T) {
	w.write(w.project, "sub/x.zig", "const x = 1;\n")
	tree, ok := os.DirFS("/").(loads.Tree)
	if !ok {
		t.Fatal("os.DirFS is no Tree")
	}
	for _, id := range everyone() {
		t.Run(id, func(t *testing.T) {
			w := w.with(t)
			p := lookUp(t, id)
			var touched []string
			var first *fakemodel.Call
			read := p.read
			if read == nil {
				read = map[string]func(string) fakemodel.Call{"opencode": call("read", "filePath"), "pi": call("read", "path")}[id]
			}
			if read != nil {
				file := filepath.Join(w.project, "sub/x.zig")
				c := read(file)
				first, touched = &c, []string{file}
			}
			w.call.Store(first)
			seen := mostOf(w.question(p, p.ask("Say a word.")))
			environ := map[string]string{}
			for _, pair := range slices.Concat(p.environ(w.model.URL), p.any) {
				name, value, _ := strings.Cut(pair, "=")
				environ[name] = value
			}
			r, err := loads.Loads(p.Runtime, loads.Machine{Tree: tree, Home: w.home, Environment: environ}, filepath.Join(w.project, w.start), touched...)
			if err != nil {
				t.Fatal(err)
			}
			says := map[string]int{}
			for _, i := range r.Items {
				if i.Kind == loads.Note || i.Kind == loads.Rule || i.Kind == loads.Skill && p.skill == nil {
					for m, n := range marks(string(i.Text)) {
						says[m] += n * i.Total
					}
				}
			}
			for m := range seen {
				if !slices.ContainsFunc([]string{"tool", "agent", "command", "verdict", "fix", "body"}, func(what string) bool { return strings.HasSuffix(m, what+"qz") }) {
					says[m] += 0
				}
			}
			if len(says) == 0 {
				t.Error("there is no mark to compare")
			}
			for _, m := range slices.Sorted(maps.Keys(says)) {
				if seen[m] != says[m] {
					t.Errorf("%s has %s %d times, loads says %d", id, m, seen[m], says[m])
				}
			}
			if t.Failed() {
				t.Logf("%+v\n%+v", r.Items, r.Never)
			}
		})
	}
}
