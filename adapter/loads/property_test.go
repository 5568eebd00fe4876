package loads

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// programs are the catalog's that say what they load.
func programs() []spec.Runtime {
	return slices.DeleteFunc(catalog.Runtimes(), func(r spec.Runtime) bool { return r.Loads == nil })
}

// A program of the catalog that is started itself says what it loads, unless aisync was
// never tried with it.
func TestEveryProgramSaysWhatItLoads(t *testing.T) {
	for _, r := range catalog.Runtimes() {
		if !r.Experimental && (r.Command == "") != (r.Loads == nil) {
			t.Errorf("%s is started as %q, and says what it loads: %t", r.ID, r.Command, r.Loads != nil)
		}
	}
}

// named reports whether r reads folder because another program's settings, which it
// reads too, name it.
func named(r spec.Runtime, folder string) bool {
	return slices.ContainsFunc(programs(), func(other spec.Runtime) bool {
		ref := other.Project.RulesRef
		return ref != nil && other.Project.Rules == folder && slices.ContainsFunc(r.Loads.Texts, func(t spec.LoadedText) bool {
			return t.Named != nil && slices.ContainsFunc(t.Named.Settings, func(s spec.LoadSetting) bool { return s.Path == ref.Path && s.Pointer+"/-" == ref.Pointer })
		})
	})
}

// What the catalog has as a program's place of rules and instructions, the
// program looks into.
func TestPlacesOfTheCatalogAreLoaded(t *testing.T) {
	for _, r := range programs() {
		for walk, scope := range map[string]spec.Scope{"user": r.User, "project": r.Project} {
			want := slices.Clone(scope.Instructions)
			if scope.RulesRef == nil && scope.Rules != "" {
				want = append(want, scope.Rules)
			}
			for _, also := range scope.RulesAlso {
				if !named(r, also) {
					want = append(want, also)
				}
			}
			switch {
			case scope.BlockRef != nil:
				want = nil // a setting names them
			case scope.Imports == "": // else a line brings it in
				want = append(want, scope.RulesBlock)
			}
			var places []string
			for _, text := range r.Loads.Texts {
				for _, f := range text.Files {
					places = append(places, f, strings.TrimSuffix(path.Dir(f), "/**"))
				}
			}
			for _, w := range want {
				if w != "" && !slices.Contains(places, w) {
					t.Errorf("%s: %s place %s is none of what it loads: %v", r.ID, walk, w, places)
				}
			}
		}
	}
}

// names are those that mean something to some program, and some that do not.
var names = []string{
	"AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", "CONTEXT.md", "AGENTS.override.md", "CLAUDE.local.md", ".goosehints", ".cursorrules",
	".claude/CLAUDE.md", ".claude/AGENTS.md", ".claude/rules/a.md", ".claude/rules/b.md", ".claude/rules/x/c.md", ".claude/skills/s/SKILL.md", ".claude/settings.json",
	".agents/skills/s/SKILL.md", ".agents/skills/t/SKILL.md", ".github/copilot-instructions.md", ".github/instructions/i.instructions.md",
	".qwen/rules/a.md", ".cursor/rules/a.mdc", ".gemini/settings.json", "opencode.json", ".mcp.json", ".aider.conf.yml", "docs/a.md", "docs/b.md",
}

var words = []string{
	"# Title\n", "text\r\n", "@AGENTS.md\n", "@./CLAUDE.md\n", "see @docs/a.md there\n", "@docs/b.md\n", "@../AGENTS.md\n", "@~/x.md\n", "`@docs/a.md`\n", "```\n", "<!-- c -->", "<!-- ",
	"---\n", "paths: ['*.go']\n", "paths: [\n", "globs: **/*.go,\n", "applyTo: '**'\n", "alwaysApply: true\n", "name: s\n", "description: d\n", "{\"mcpServers\": {\"a\": {}}}", "read: [docs/a.md]\n",
	"<!-- aisync:begin rules -->\n", "<!-- aisync:end rules -->\n", "\x00\xff", "\uFEFF",
}

var targets = []string{"AGENTS.md", "../AGENTS.md", "CLAUDE.md", "..", ".", "../..", "/nowhere", "/w/p/repo/sub", "a.md", "../../.agents/skills", "sub/../AGENTS.md"}

// random is a tree of which most files mean something, with links that may lead
// anywhere.
func random(r *rand.Rand) *Planned {
	p := &Planned{Files: map[string][]byte{}, Links: map[string]string{}}
	if r.IntN(4) > 0 {
		p.Files[project+"/.git/HEAD"] = nil
	}
	dirs := []string{"/", "/w", project, project, project, project + "/sub", project + "/sub/deep", homeDir}
	for range r.IntN(40) {
		at := path.Join(dirs[r.IntN(len(dirs))], names[r.IntN(len(names))])
		if r.IntN(5) == 0 {
			for range r.IntN(3) {
				at = path.Dir(at) // a link in place of a folder
			}
			if at != "/" && at != "/w" && at != "/w/p" {
				p.Links[at] = targets[r.IntN(len(targets))]
			}
			continue
		}
		var text strings.Builder
		for range r.IntN(8) {
			text.WriteString(words[r.IntN(len(words))])
		}
		p.Files[at] = []byte(text.String())
	}
	return p
}

// The answer depends on nothing but the question, whatever lies in a tree; it
// comes at once, and counts what it lists.
func TestAnyTree(t *testing.T) {
	for seed := range uint64(250) {
		check(t, random(rand.New(rand.NewPCG(seed, 1))))
	}
}

func check(t *testing.T, tree *Planned) {
	t.Helper()
	m := Machine{Tree: tree, Home: homeDir, Trust: Granted}
	for _, program := range programs() {
		ask := func(touched ...string) Result {
			begun := time.Now()
			r, err := Loads(program, m, project+"/sub", touched...)
			if took := time.Since(begun); err != nil || took > time.Minute {
				t.Fatalf("%s: %v after %s", program.ID, err, took)
			}
			return r
		}
		r := ask(project+"/sub/deep/x.go", project+"/a.go")
		if diff := cmp.Diff(r, ask(project+"/sub/deep/x.go", project+"/a.go")); diff != "" {
			t.Fatalf("%s: another answer the second time:\n%s", program.ID, diff)
		}
		for _, i := range r.Items {
			before := len(slices.DeleteFunc(slices.Clone(i.From), func(f File) bool { return f.After != "" }))
			if i.Start > i.Total || i.Total > 0 && (i.Total != len(i.From) || i.Start != before) || i.Bytes > len(i.Text) {
				t.Fatalf("%s: %d and %d copies from %d files: %+v", program.ID, i.Start, i.Total, len(i.From), i)
			}
		}
		// A program that has read nothing has what it has at its start.
		var start, nothing []string
		for _, i := range r.Items {
			if i.Start > 0 {
				start = append(start, fmt.Sprint(i.Kind, i.Name, i.Digest, i.Start))
			}
		}
		for _, i := range ask().Items {
			if i.Total > 0 {
				nothing = append(nothing, fmt.Sprint(i.Kind, i.Name, i.Digest, i.Total))
			}
		}
		if diff := cmp.Diff(start, nothing); diff != "" {
			t.Fatalf("%s: reading changes the start:\n%s", program.ID, diff)
		}
	}
}

func FuzzLoads(f *testing.F) {
	f.Add(uint64(1), []byte("# A\n@AGENTS.md\n"))
	f.Add(uint64(2), []byte("---\npaths: ['{a,b']\n---\n<!-- aisync:begin rules -->\n"))
	f.Fuzz(func(t *testing.T, seed uint64, text []byte) {
		tree := random(rand.New(rand.NewPCG(seed, 2)))
		for i, name := range names {
			if uint64(i)%7 == seed%7 {
				at := path.Join(project, name)
				delete(tree.Links, at)
				tree.Files[at] = text
			}
		}
		check(t, tree)
	})
}

// rules is a project with n rules in the folder of each program, and one
// instruction file that imports a tenth of them.
func rules(n int) Tree {
	p := &Planned{Files: map[string][]byte{project + "/.git/HEAD": nil}}
	var notes strings.Builder
	notes.WriteString("# Notes\n")
	body := strings.Repeat("Keep to what the team has agreed on, and say why.\n", 40)
	for i := range n {
		front := "---\npaths: [\"pkg" + fmt.Sprint(i) + "/**/*.go\"]\n---\n"
		if i%3 == 0 {
			front = ""
		}
		text := fmt.Appendf(nil, "%s# Rule %d\n\n%s", front, i, body)
		p.Files[fmt.Sprintf("%s/.claude/rules/r%05d.md", project, i)] = text
		p.Files[fmt.Sprintf("%s/.qwen/rules/r%05d.md", project, i)] = text
		p.Files[fmt.Sprintf("%s/.opencode/rules/r%05d.md", project, i)] = text
		p.Files[fmt.Sprintf("%s/.github/instructions/r%05d.instructions.md", project, i)] = text
		if i%10 == 0 {
			fmt.Fprintf(&notes, "@.claude/rules/r%05d.md\n", i)
		}
	}
	p.Files[project+"/AGENTS.md"] = []byte(notes.String())
	p.Files[project+"/CLAUDE.md"] = []byte("@AGENTS.md\n")
	p.Files[project+"/GEMINI.md"] = []byte("@AGENTS.md\n")
	p.Files[project+"/opencode.json"] = []byte(`{"instructions": [".opencode/rules/*.md"]}`)
	return p
}

// Each rule of a great project is found, once for each way it is loaded.
func TestTenThousandRules(t *testing.T) {
	items := func(n int) map[string]int {
		counts := map[string]int{}
		tree := rules(n)
		for _, program := range programs() {
			r, err := Loads(program, Machine{Tree: tree, Home: homeDir, Trust: Granted}, project, project+"/pkg1/x.go")
			if err != nil || len(r.Items) == 0 && program.ID != "aider" {
				t.Fatalf("%s: %d items, %v", program.ID, len(r.Items), err)
			}
			counts[program.ID] = len(r.Items)
		}
		return counts
	}
	few, many := items(100), items(10000)
	t.Logf("of 100 rules %v, of 10,000 %v", few, many)
	for id, n := range many {
		if n > few[id] && (n < 100*(few[id]-2) || n > 100*(few[id]+2)) {
			t.Errorf("%s: %d items of 100 rules, %d of 10,000", id, few[id], n)
		}
	}
}

func Benchmark500RulesSevenPrograms(b *testing.B) {
	tree := rules(500)
	m := readGolden(b)
	for b.Loop() {
		for _, program := range programs() {
			if m.Versions[program.ID] == "" {
				continue
			}
			if _, err := Loads(program, Machine{Tree: tree, Home: homeDir, Trust: Granted}, project, project+"/pkg1/x.go"); err != nil {
				b.Fatal(err)
			}
		}
	}
}
