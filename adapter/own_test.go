package adapter

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// ownKinds are bundles of one kind each that a person may add for themselves.
const ownKinds = `
-- languages/rule/common/rules/mine.md --
# Mine

MINE holds everywhere.
-- languages/scoped/common/rules/lisp.md --
---
paths: ["**/*.el"]
---
# Lisp

MYLISP is for Lisp.
-- languages/skill/skills/tidy/SKILL.md --
---
name: tidy
description: Tidies
---
-- languages/command/commands/ship.md --
---
description: Ships
---
Ship $ARGUMENTS.
-- languages/subagent/common/agents/mate.md --
---
name: mate
description: Helps
---
You help.
-- languages/hook/hooks/hooks.json --
{"hooks": [{"event": "PreToolUse", "tools": ["shell"], "command": "look.sh"}]}
-- languages/hook/hooks/look.sh --
#!/bin/sh
-- languages/permission/permissions.json --
{"deny": ["shell(rm *)"]}
-- languages/notes/CLAUDE.md --
# Notes
-- languages/notes/gitignore --
*.o
-- languages/notes/githooks/pre-commit --
#!/bin/sh
`

// layered is a project of everyone's runtimes, with the person's own layer. Its
// team's bundle holds every kind where busy says so.
func layered(t *testing.T, from ownSources, busy bool, runtimes []string, layer func(own *spec.Project)) Project {
	t.Helper()
	p := project(runtimes, []spec.Source{from.team})
	p.Runtimes, p.Sources = catalog.Runtimes(), from.read
	if busy {
		p.Spec.Bundles = []spec.BundleRef{{Source: "s", Name: "a", Pos: line("aisync.cue", 11)}}
		p.Spec.MCP = []spec.MCPServer{{Name: "db", Command: "db", Pos: line("aisync.cue", 12)}}
	}
	if layer != nil {
		own := &spec.Project{Name: "p", Dir: p.Spec.Dir, File: "aisync.local.cue", Sources: []spec.Source{from.mine}}
		layer(own)
		p.Spec.Local = own
	}
	return p
}

// ownSources are the team's source and the person's.
type ownSources struct {
	team, mine spec.Source
	read       *bundle.Sources
}

func newOwnSources(t *testing.T) ownSources {
	return ownSources{source(t, "s", everything+lawSource), source(t, "mine", ownKinds), &bundle.Sources{}}
}

// The kinds of a layer, as one person may ask for them.
var layers = map[string]func(own *spec.Project, runtime string){
	"mcp": func(own *spec.Project, _ string) {
		own.MCP = []spec.MCPServer{{Name: "own", Command: "own", Pos: line("aisync.local.cue", 1)}}
	},
	"settings": func(own *spec.Project, id string) {
		own.Settings = []spec.Settings{{Runtime: id, JSON: []byte(`{"model":"x"}`), Pos: line("aisync.local.cue", 2)}}
	},
}

func ownBundle(own *spec.Project, names ...string) {
	for i, name := range names {
		own.Bundles = append(own.Bundles, spec.BundleRef{Source: "mine", Name: name, Pos: line("aisync.local.cue", 10+i)})
	}
}

var bundleKinds = []string{"rule", "scoped", "skill", "command", "subagent", "hook", "permission", "notes"}

// Where each kind of the person's own layer lies with each program alone, in an
// empty project and in one that has every kind for everyone; docs/spec.md shows it.
func TestPlacesOfOwnLayer(t *testing.T) {
	from := newOwnSources(t)
	var table strings.Builder
	for _, busy := range []bool{false, true} {
		for _, rt := range tried() {
			for _, kind := range append(slices.Clone(bundleKinds), "mcp", "settings") {
				d, err := layered(t, from, busy, []string{rt.ID}, func(own *spec.Project) {
					if add := layers[kind]; add != nil {
						add(own, rt.ID)
					} else {
						ownBundle(own, kind)
					}
				}).Declare(context.Background())
				var targets []string
				for _, a := range d.Own {
					targets = append(targets, string(a))
				}
				says := strings.Join(targets, " ")
				if err != nil {
					says = "refused"
				} else if says == "" {
					says = "left out"
				}
				row := fmt.Sprintf("%-12s %-10s ", rt.ID, kind)
				if !busy || !strings.Contains(table.String(), row+says+"\n") {
					table.WriteString(row + says + map[bool]string{true: ", where everyone has such files"}[busy] + "\n")
				}
			}
		}
	}
	golden(t, "own.txt", table.String())
}

// Whatever one person adds, with whichever programs, what everyone gets has the
// same bytes, and lies apart from it; no file of notes is among it.
func TestOwnLayerChangesNothingOfEveryone(t *testing.T) {
	from := newOwnSources(t)
	for _, a := range tried() {
		before, err := layered(t, from, true, []string{a.ID}, nil).Declare(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range tried() {
			for _, runtimes := range [][]spec.Named{nil, {{Value: b.ID, Pos: line("aisync.local.cue", 3)}}} {
				after, err := layered(t, from, true, []string{a.ID}, func(own *spec.Project) {
					own.Runtimes = runtimes
					ownBundle(own, bundleKinds...)
					layers["mcp"](own, b.ID)
					layers["settings"](own, b.ID)
				}).Declare(context.Background())
				what := fmt.Sprintf("%s, and %s of one person", a.ID, b.ID)
				if err != nil {
					for l := range strings.Lines(err.Error()) {
						if !strings.HasPrefix(l, "aisync.local.cue:") {
							t.Errorf("%s: refused without a place: %s", what, l)
						}
					}
				}
				everyone, own := Decls{}, map[reconcile.Address]bool{}
				for _, target := range after.Own {
					own[target] = true
					if name := path.Base(target.Name()); slices.Contains([]string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".gitignore", "copilot-instructions.md"}, name) {
						t.Errorf("%s: %s is one person's", what, target)
					}
				}
				for _, d := range after.Declarations {
					switch {
					case !own[d.Target]:
						everyone.Declarations = append(everyone.Declarations, d)
					case !d.Local:
						t.Errorf("%s: %s of one person would be in the lock", what, d.Target)
					}
				}
				if diff := cmp.Diff(prints(before), prints(everyone)); diff != "" {
					t.Errorf("%s: everyone gets something else:\n%s", what, diff)
				}
			}
		}
	}
}

// Each program has the person's rule once where it has a place for it, else not at
// all, and of everyone's rules what it had without the layer.
func TestOwnLayerIsLoadedOnce(t *testing.T) {
	from := newOwnSources(t)
	takes := []string{"claude", "continue-cli", "copilot", "cursor", "kilo", "opencode", "qwen"}
	all := tried()
	for i, a := range all {
		for _, b := range all[i:] {
			set := slices.Compact([]string{a.ID, b.ID})
			got := map[bool]map[string][2]int{}
			for _, with := range []bool{false, true} {
				var layer func(*spec.Project)
				if with {
					layer = func(own *spec.Project) { ownBundle(own, "rule", "scoped") }
				}
				m := newMachine(t)
				p := layered(t, from, true, set, layer)
				p.Spec.Dir = m.project
				d, err := p.Declare(context.Background())
				if err != nil && !slices.ContainsFunc(set, func(id string) bool { return slices.Contains(takes, id) }) {
					continue // no program has a place: refused
				}
				if err != nil {
					t.Fatalf("%q: %v", set, err)
				}
				m.apply(t, d.Declarations)
				got[with] = map[string][2]int{}
				for _, id := range set {
					rt := known(id)
					tree, ok := os.DirFS("/").(loads.Tree)
					if !ok {
						t.Fatal("os.DirFS is no Tree")
					}
					r, err := loads.Loads(*program(&rt, all), loads.Machine{Tree: tree, Home: m.home, Trust: loads.Granted}, m.project, path.Join(m.project, "x/a.el"))
					if err != nil {
						t.Fatal(err)
					}
					for _, marker := range []string{"MINE", "MYLISP", "ALWAYS", "SCOPED"} {
						n := got[with][id+" "+marker]
						for _, item := range r.Items {
							if c := strings.Count(string(item.Text), marker); c > 0 {
								n[0], n[1] = n[0]+c*item.Start, n[1]+c*item.Total
							}
						}
						got[with][id+" "+marker] = n
					}
				}
			}
			for key, n := range got[true] {
				id, marker, _ := strings.Cut(key, " ")
				if id == "local-openai" && slices.Contains(set, "opencode") {
					id = "opencode" // which drives it
				}
				want := [2]int{}
				switch native := !slices.Contains([]string{"continue-cli", "kilo", "opencode"}, id) && slices.Contains(takes, id); {
				case marker == "ALWAYS" || marker == "SCOPED":
					want = got[false][key]
				case marker == "MINE" && slices.Contains(takes, id):
					want = [2]int{1, 1}
				case marker == "MYLISP" && native:
					want = [2]int{0, 1}
				}
				if n != want {
					t.Errorf("%q: %s is there %v times (at the start, in all), want %v", set, key, n, want)
				}
			}
		}
	}
}
