package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/schema/spec"
)

// steered are the programs that have a list of settings: the file that the list
// is of, and where a bundle brings such a file.
var steered = map[string]struct{ file, bundled string }{
	"aider":    {file: ".aider.conf.yml"},
	"claude":   {".claude/settings.json", "runtimes/claude/settings.json"},
	"codex":    {file: ".codex/config.toml"},
	"copilot":  {".github/copilot/settings.json", "runtimes/copilot/copilot/settings.json"},
	"gemini":   {".gemini/settings.json", "runtimes/gemini/settings.json"},
	"opencode": {"opencode.json", "runtimes/opencode/opencode.json"},
	"pi":       {file: ".pi/settings.json"},
	"qwen":     {".qwen/settings.json", "runtimes/qwen/settings.json"},
}

// rounds is how many specs each program gets.
func rounds() int {
	if os.Getenv("AISYNC_PROOF") == "full" {
		return 1000
	}
	return 60
}

// No setting of a project reaches a program unasked, by any of three ways: the
// spec, a bundle of the project's own source, a file that lies there already.
// What is harmless needs no question.
func TestNoSettingOutsideTheHarmlessOnesIsWrittenUnasked(t *testing.T) {
	proved := proof.Start(t, 17)
	var sum obeyedCounts
	tallies := make(chan obeyedCounts, len(steered))
	t.Run("programs", func(t *testing.T) {
		for id := range steered {
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				tallies <- newSteering(t, id).tried(t)
			})
		}
	})
	close(tallies)
	for c := range tallies {
		sum.specs, sum.silent, sum.asked, sum.refused, sum.written = sum.specs+c.specs, sum.silent+c.silent, sum.asked+c.asked, sum.refused+c.refused, sum.written+c.written
	}
	proved("programs", len(steered), "specs", sum.specs, "asked", sum.asked, "unasked", sum.silent, "refused", sum.refused, "written", sum.written)
}

// obeyedCounts is what came of specs.
type obeyedCounts struct {
	specs   int
	silent  int // all was harmless, and was done without a question
	asked   int // nothing was written before a yes
	refused int // errors and conflicts: settings that the program ignores there, or in whose way others are
	written int // harmless settings in files that aisync wrote
}

// steering is a machine with one project, whose settings steer a program.
type steering struct {
	dir, project, id string
	runtime          spec.Runtime
	author           author
}

func newSteering(t *testing.T, id string) *steering {
	t.Helper()
	s := &steering{dir: t.TempDir(), id: id}
	s.project = filepath.Join(s.dir, "p")
	for _, rt := range catalog.Runtimes() {
		if rt.ID == id {
			s.runtime = rt
		}
	}
	obeys := obeysFile(s.runtime, steered[id].file)
	if len(obeys) != 1 {
		t.Fatalf("%s: %d entries for %s", id, len(obeys), steered[id].file)
	}
	seed := sha256.Sum256([]byte(id))
	s.author = author{rand.New(rand.NewPCG(17, uint64(seed[0]))), listedKeys(t, id), obeys[0], judge{"out"}}
	git := exec.Command("git", "init", "-q", s.project)
	git.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	must(t, git.Run())
	return s
}

// aisync runs the program in this process.
func (s *steering) aisync(args ...string) (code int, out, said string) {
	var o, e bytes.Buffer
	argv := append([]string{"aisync", "--root", filepath.Join(s.dir, "root"), "--project", s.project}, args...)
	code = run(argv, strings.NewReader(""), &o, &e, []string{"HOME=/home/me", "PATH=" + os.Getenv("PATH"), "AISYNC_OFFLINE=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"})
	return code, o.String(), e.String()
}

// obeyedCase is one project.
type obeyedCase struct {
	way      string // "spec", "bundle", "file"
	mcp      bool
	settings map[string]any
	files    map[string]string
}

// next thinks up a project.
func (s *steering) next(t *testing.T) obeyedCase {
	t.Helper()
	a, at := s.author, steered[s.id]
	c := obeyedCase{way: "file", settings: a.settings(a.IntN(5) < 2), files: map[string]string{}}
	if s.runtime.Project.Settings != nil && a.IntN(5) > 1 {
		c.way = "spec"
	} else if at.bundled != "" && a.IntN(2) == 0 {
		c.way = "bundle"
	}
	c.mcp = s.runtime.Project.MCP != nil && a.IntN(12) == 0
	spec := map[string]any{"name": "p", "runtimes": []string{s.id}}
	switch doc := inFormat(t, a.obeys.Format, c.settings); c.way {
	case "spec":
		spec["settings"] = map[string]any{s.id: c.settings}
	case "bundle":
		spec["sources"], spec["bundles"] = map[string]any{"rules": "./rules"}, []string{"rules//x"}
		c.files["rules/languages/x/"+at.bundled] = string(doc)
	case "file":
		c.files[at.file] = string(doc)
	}
	if c.mcp {
		spec["mcp"] = map[string]any{"x": map[string]any{"command": a.one("npx", "./tools/x.js"), "args": []string{"-y", "x"}}}
		if a.IntN(2) == 0 {
			spec["mcp"] = map[string]any{"x": map[string]any{"url": "https://127.0.0.1:1/mcp"}}
		}
	}
	doc, err := json.Marshal(spec)
	must(t, err)
	c.files["aisync.cue"] = "package aisync\n\nproject: " + string(doc) + "\n"
	return c
}

// lay makes the machine new, with the project c.
func (s *steering) lay(t *testing.T, c obeyedCase) {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(s.dir, "root")))
	must(t, os.MkdirAll(filepath.Join(s.dir, "root/home/me"), 0o755))
	entries, err := os.ReadDir(s.project)
	must(t, err)
	for _, e := range entries {
		if e.Name() != ".git" {
			must(t, os.RemoveAll(filepath.Join(s.project, e.Name())))
		}
	}
	must(t, os.Symlink(s.dir, filepath.Join(s.project, "out")))
	for name, text := range c.files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(s.project, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(s.project, name), []byte(text), 0o644))
	}
}

// holds is what lies in the project and the home, but for aisync's own state.
func (s *steering) holds(t *testing.T) map[string]string {
	t.Helper()
	out := tree(t, s.project)
	for name, is := range tree(t, filepath.Join(s.dir, "root")) {
		if !strings.HasPrefix(name, "home/me/.local") && !strings.HasPrefix(name, "home/me/.cache") && name != "home/me" {
			out["root/"+name] = is
		}
	}
	delete(out, ".")
	return out
}

// tried lets aisync loose on random projects.
func (s *steering) tried(t *testing.T) obeyedCounts {
	var sum obeyedCounts
	ways := map[string]int{}
	for sum.specs < rounds() && !t.Failed() {
		c := s.next(t)
		sum.specs++
		s.lay(t, c)
		if what := s.judged(t, c, &sum); what != "" {
			t.Errorf("spec %d of %s, by %s: %s\n%.3000s", sum.specs, s.id, c.way, what, c.files)
		}
		ways[c.way]++
	}
	if !t.Failed() && (sum.silent < sum.specs/10 || sum.asked < sum.specs/10 || sum.refused > sum.specs/4 || s.runtime.Project.Settings != nil && sum.written < sum.specs/10) {
		t.Errorf("%s: %+v (%v): too few of one kind say too little", s.id, sum, ways)
	}
	t.Logf("%s: %+v, by %v", s.id, sum, ways)
	return sum
}

// judged applies a project, and says what is wrong with what came of it.
func (s *steering) judged(t *testing.T, c obeyedCase, sum *obeyedCounts) string {
	t.Helper()
	var effects []judgedLeaf
	for _, l := range flat(nil, c.settings) {
		if !s.author.judge.harmless(s.author.obeys, l) {
			effects = append(effects, l)
		}
	}
	before := s.holds(t)
	code, out, said := s.aisync("apply", "--yes", "--scope", "project")
	after := s.holds(t)
	wrote, harmless := s.wrote(t, c, before, after)
	sum.written += harmless
	switch {
	case len(wrote) > 0:
		return fmt.Sprintf("apply wrote, unasked (exit code %d):\n%s", code, strings.Join(wrote, "\n"))
	case code == cli.ExitError && !strings.Contains(said, "internal error") && maps.Equal(before, after):
		sum.refused++
		return ""
	case code == cli.ExitConflict && strings.Contains(said, "undecided conflicts") && maps.Equal(before, after):
		sum.refused++
		if c.way != "file" || len(effects) == 0 {
			return ""
		}
		return s.listed(c, effects) // for they are obeyed all the same
	case code == cli.ExitOK && len(effects) == 0 && !c.mcp:
		sum.silent++
		return ""
	case code != cli.ExitConflict || len(effects) == 0 && !c.mcp:
		return fmt.Sprintf("exit code %d, with the effects %v\n%s%s", code, effects, out, said)
	case !maps.Equal(before, after):
		return "something was written, and exit code 4 says that nothing was"
	}
	sum.asked++
	if what := s.listed(c, effects); what != "" {
		return what + "\n" + out + said
	}
	code, out, said = s.aisync("apply", "--yes", "--scope", "project", "--keep-going")
	wrote, harmless = s.wrote(t, c, before, s.holds(t))
	sum.written += harmless
	if len(wrote) > 0 {
		return "apply --keep-going wrote:\n" + strings.Join(wrote, "\n")
	}
	if code != cli.ExitPartial {
		return fmt.Sprintf("apply --keep-going: exit code %d\n%s%s", code, out, said)
	}
	return ""
}

// wrote are the effects in files that an apply made or changed, on any program
// of the catalog, but those that were in the file before; and how many settings
// there are harmless.
func (s *steering) wrote(t *testing.T, c obeyedCase, before, after map[string]string) (found []string, harmless int) {
	t.Helper()
	for name, is := range after {
		if before[name] == is || strings.HasPrefix(name, "root/") || !strings.HasPrefix(is, "-") {
			continue
		}
		doc, err := os.ReadFile(filepath.Join(s.project, name))
		must(t, err)
		more, n := s.author.judge.effectsIn(name, doc, catalog.Runtimes())
		if had := c.files[name]; had != "" {
			old, _ := s.author.judge.effectsIn(name, []byte(had), catalog.Runtimes())
			more = slices.DeleteFunc(more, func(e string) bool { return slices.Contains(old, e) })
		}
		found, harmless = append(found, more...), harmless+n
	}
	return found, harmless
}

// listed says which effects of a project its plan does not list.
func (s *steering) listed(c obeyedCase, effects []judgedLeaf) string {
	_, out, _ := s.aisync("plan", "--scope", "project", "--json")
	var plan struct {
		Effects []struct{ Program, File, Key string } `json:"undecided_effects"`
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		return err.Error()
	}
	for _, l := range effects {
		pointer := ""
		for _, name := range l.names {
			pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "#", "~2").Replace(name)
		}
		if !slices.ContainsFunc(plan.Effects, func(e struct{ Program, File, Key string }) bool {
			return e.Program == s.id && (c.way == "bundle" || e.File == steered[s.id].file) && strings.HasPrefix(pointer+"/", e.Key+"/")
		}) {
			return fmt.Sprintf("the plan does not list %s: %v", l, plan.Effects)
		}
	}
	if len(plan.Effects) == 0 {
		return "the plan lists no effect"
	}
	return ""
}
