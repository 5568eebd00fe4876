package adapter

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// folderSource adds to lawSource a bundle for a folder.
const folderSource = lawSource + `
-- languages/b/common/rules/all.md --
# All of b

FIRST-OF-B is for a folder.
-- languages/b/common/rules/some.md --
---
paths:
  - "*.el"
---
# Some of b

LISP-OF-B is for Lisp in a folder.
-- languages/b/common/rules/asked.md --
---
description: "releasing a part"
alwaysApply: false
---
# Asked of b

RELEASE-OF-B is for releases of a folder.
`

// has is how often a program that is started in a folder has each marker at the
// start and once it has read a file, or that a line names the rule for it.
func has(t *testing.T, tree loads.Tree, project, start, touched, id string, markers []string) map[string]string {
	t.Helper()
	all := catalog.Runtimes()
	rt := all[slices.IndexFunc(all, func(r spec.Runtime) bool { return r.ID == id })]
	r, err := loads.Loads(*program(&rt, all), loads.Machine{Tree: tree, Home: "/nowhere", Trust: loads.Granted}, path.Join(project, start), path.Join(project, touched))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	var whole strings.Builder
	for _, i := range r.Items {
		if i.Start > 0 {
			whole.Write(i.Text)
		}
	}
	for _, marker := range markers {
		atStart, total := 0, 0
		for _, i := range r.Items {
			if n := strings.Count(string(i.Text), marker); n > 0 {
				atStart, total = atStart+n*i.Start, total+n*i.Total
				if i.When == loads.OnRequest {
					got[marker] = "on request"
				}
			}
		}
		if got[marker] == "" {
			got[marker] = fmt.Sprintf("%d at the start, %d after", atStart, total)
		}
		for line := range strings.Lines(whole.String()) {
			if _, rest, ok := strings.Cut(line, "If your program has not given you this rule already, read `"); ok && got[marker] == "0 at the start, 0 after" {
				name, _, _ := strings.Cut(rest, "`")
				if text, err := fs.ReadFile(tree, strings.TrimPrefix(path.Join(project, name), "/")); err == nil && strings.Contains(string(text), marker) {
					got[marker] = "named"
				}
			}
		}
	}
	return got
}

// startOnly reports whether a program reads texts of a project from the folder alone
// where it is started.
func startOnly(id string) bool {
	rt, _ := catalog.With(spec.Catalog{}).Runtime(id)
	return rt.Loads != nil && !slices.ContainsFunc(rt.Loads.Texts, func(t spec.LoadedText) bool { return t.Walk != spec.WalkStart && t.Walk != spec.WalkUser })
}

// A program that is started at the root or in a folder has each rule of both as
// often and at the same time, whichever other programs are in the list, and none
// more than once.
func TestLawOfDeliveryInFolders(t *testing.T) {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", memory)
	}
	ids := lawfulRuntimes()
	src := source(t, "s", folderSource)
	places := []spec.Place{{Folder: "packages/api", Bundles: []spec.BundleRef{{Source: "s", Name: "b"}}}}
	files := map[string]string{"packages/api/src/a.el": "A\n", "packages/web/a.el": "B\n"}
	persons := map[string]map[string]string{
		"nothing":        {},
		"claude's notes": {"CLAUDE.md": "PERSON wrote this.\n"},
		"nested notes":   {"packages/api/AGENTS.md": "NESTED wrote this.\n"},
		"nested claude":  {"packages/api/CLAUDE.md": "NESTED wrote this.\n"},
	}
	markers := append(slices.Sorted(maps.Keys(lawful)), "FIRST-OF-B", "LISP-OF-B", "RELEASE-OF-B", "PERSON", "NESTED")
	rooms := [][2]string{{"", "packages/api/src/a.el"}, {"packages/api", "packages/api/src/a.el"}, {"", "packages/web/a.el"}, {"packages/web", "packages/web/a.el"}}
	r := rand.New(rand.NewPCG(19, 10))
	for _, name := range slices.Sorted(maps.Keys(persons)) {
		person := maps.Clone(files)
		maps.Copy(person, persons[name])
		t.Run(name, func(t *testing.T) {
			alone := map[string]map[string]string{}
			for _, id := range ids {
				tree, dir, d := lawProject(t, src, person, []string{id}, places...)
				for _, room := range rooms {
					key := id + " " + room[0] + " " + room[1]
					alone[key] = has(t, tree, dir, room[0], room[1], id, markers)
					if room[0] != "" && startOnly(id) {
						continue // it reads nothing above the folder where it is started
					}
					for marker, got := range alone[key] {
						if want := due(marker, room[1]); want != "" && got != want && got != "named" && !(got == "on request" && (marker == "ON-REQUEST" || marker == "RELEASE-OF-B")) && !waits(d, id) {
							t.Errorf("%s alone, started in %q, reads %s: %s %s, want %s", id, room[0], room[1], marker, got, want)
						}
					}
				}
			}
			var sets [][]string
			for _, a := range ids {
				for _, b := range ids {
					if a < b {
						sets = append(sets, []string{a, b})
					}
				}
			}
			n := 20
			if testing.Short() {
				sets, n = sets[:len(ids)], 4
			}
			for range n {
				set := slices.DeleteFunc(slices.Clone(ids), func(string) bool { return r.IntN(2) == 0 })
				sets = append(sets, set)
			}
			for _, set := range sets {
				tree, dir, d := lawProject(t, src, person, set, places...)
				for _, id := range set {
					for _, room := range rooms {
						is := has(t, tree, dir, room[0], room[1], id, markers)
						for what, was := range alone[id+" "+room[0]+" "+room[1]] {
							if plain(is[what]) != plain(was) && !waits(d, id) && !allowed(id, what, is[what], set, person) {
								t.Errorf("%q: %s, started in %q, reads %s: has %s %s; alone %s", set, id, room[0], room[1], what, is[what], was)
							}
						}
					}
				}
			}
		})
	}
}

// plain is what a program has without the lines of an index, which are no items.
func plain(has string) string {
	if has == "named" {
		return "0 at the start, 0 after"
	}
	return has
}

// due is how often a program with a form for it has a rule of folderSource; "" for
// what a person wrote.
func due(marker, touched string) string {
	const once, later, never = "1 at the start, 1 after", "0 at the start, 1 after", "0 at the start, 0 after"
	switch marker {
	case "ALWAYS", "SECOND":
		return once
	case "SCOPED":
		return later
	case "FIRST-OF-B", "LISP-OF-B":
		if strings.HasPrefix(touched, "packages/api/") {
			return later
		}
		return never
	case "ON-REQUEST", "RELEASE-OF-B":
		return never
	}
	return ""
}
