package loads

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "write testdata/measured.json from the reference beside the repository")

const (
	reference = "../../../shared/reference/loads.json"
	golden    = "testdata/measured.json"
)

// measured is what real programs loaded of trees: the reference, in which trees
// are written once and rows of one text are one.
type measured struct {
	Versions map[string]string       `json:"versions"`
	Trees    map[string]measuredTree `json:"trees"`
}

type measuredTree struct {
	Start string                       `json:"start"`
	Read  string                       `json:"read"`
	As    string                       `json:"files_of,omitempty"` // the tree that has the same files
	Files map[string]any               `json:"files,omitempty"`    // a text, or {"symlink": to}
	Home  map[string]string            `json:"home,omitempty"`
	Loads map[string]map[string]string `json:"loads"` // by "place marker", by program: "1", or "0 1" at the start and after the read
}

// distilled is the reference in the golden's form; nil where there is none.
func distilled(t *testing.T) *measured {
	t.Helper()
	text, err := os.ReadFile(reference)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Versions map[string]string
		Trees    map[string]struct {
			StartDir  string `json:"start_dir"`
			Read      string
			Files     map[string]any
			HomeFiles map[string]string `json:"home_files"`
		}
		Loads []struct {
			Program, Tree, Place, Marker string
			Start                        int
			After                        int `json:"after_read"`
		}
	}
	if err := json.Unmarshal(text, &ref); err != nil {
		t.Fatal(err)
	}
	m := &measured{Versions: ref.Versions, Trees: map[string]measuredTree{}}
	var names []string
	for n := range ref.Trees {
		names = append(names, n)
	}
	sort.Strings(names)
	for i, n := range names {
		tree := ref.Trees[n]
		out := measuredTree{Start: tree.StartDir, Read: tree.Read, Files: tree.Files, Home: tree.HomeFiles, Loads: map[string]map[string]string{}}
		for _, before := range names[:i] {
			if len(tree.Files) > 5 && reflect.DeepEqual(ref.Trees[before].Files, tree.Files) {
				out.As, out.Files = before, nil
				break
			}
		}
		m.Trees[n] = out
	}
	for _, l := range ref.Loads {
		rows := m.Trees[l.Tree].Loads
		key := l.Place + " " + l.Marker
		if rows[key] == nil {
			rows[key] = map[string]string{}
		}
		rows[key][l.Program] = fmt.Sprint(l.Start)
		if l.After != l.Start {
			rows[key][l.Program] = fmt.Sprint(l.Start, " ", l.After)
		}
	}
	return m
}

func TestGoldenIsTheReference(t *testing.T) {
	ref := distilled(t)
	if ref == nil {
		t.Skip("the reference lies beside the repository only where it was measured")
	}
	want, err := json.MarshalIndent(ref, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(golden, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run: go test ./adapter/loads -run GoldenIsTheReference -update\n%s", diff)
	}
}

func readGolden(t testing.TB) measured {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var m measured
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Where the trees lay. Those of a name with "inhome" lay below home.
const (
	homeDir  = "/h/me"
	project  = "/w/p/repo"
	inHome   = "/h/me/code/repo"
	settings = ".claude/settings.json"
)

// base is what lay in every home, so that the programs met a trusted folder and
// the stand-in model: what of it counts for what they load.
func base(dir string) map[string]string {
	return map[string]string{
		settings:               `{"env": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}}`,
		".pi/agent/trust.json": fmt.Sprintf(`{%q: true}`, dir),
	}
}

// repaired are home files that the reference names in short or leaves out: what
// the run had, by the name of its tree.
var repaired = map[string]map[string]string{
	// It keeps a mark in place of the folders.
	"13r-external-approved-from-sub": {"+.claude.json": `{"projects": {"/w/p/repo": {"hasClaudeMdExternalIncludesApproved": true}, "/w/p/repo/sub": {"hasClaudeMdExternalIncludesApproved": true}}}`},
	// It leaves the approval of the root out.
	"13s-external-approved-root-only-from-sub": {"+.claude.json": `{"projects": {"/w/p/repo": {"hasClaudeMdExternalIncludesApproved": true}}}`},
}

// machineOf lays a tree out as its run had it, for a program.
func machineOf(t testing.TB, m measured, name string) (machine Machine, dir string) {
	t.Helper()
	tree := m.Trees[name]
	if dir = project; strings.Contains(name, "inhome") {
		dir = inHome
	}
	p := &Planned{Files: map[string][]byte{}, Links: map[string]string{}}
	put := func(at, text string) { p.Files[path.Clean(at)] = []byte(text) }
	put(dir+"/.git/HEAD", "ref: refs/heads/main\n")
	files := tree.Files
	if tree.As != "" {
		files = m.Trees[tree.As].Files
	}
	for f, content := range files {
		switch c := content.(type) {
		case string:
			put(path.Join(dir, f), whole(t, name, f, c))
		case map[string]any:
			p.Links[path.Join(dir, f)] = c["symlink"].(string)
		}
	}
	home := base(dir)
	extra := tree.Home
	if r, ok := repaired[name]; ok {
		extra = r
	}
	for f, text := range extra {
		at := strings.TrimLeft(f, "+^")
		if strings.HasPrefix(f, "+") && home[at] != "" {
			text = merged(t, home[at], text)
		}
		home[at] = text
	}
	for f, text := range home {
		put(path.Join(homeDir, f), text)
	}
	env := map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}
	if name == "22k-gemini-untrusted" {
		env = nil // that was the point of the run
	}
	return Machine{Tree: p, Home: homeDir, Environment: env}, dir
}

// whole is a text that the reference shortens: "… (41874 bytes)" ends it.
func whole(t testing.TB, tree, file, text string) string {
	t.Helper()
	head, rest, ok := strings.Cut(text, "filler …")
	if !ok {
		return text
	}
	var size int
	if _, err := fmt.Sscanf(strings.TrimSpace(rest), "(%d bytes)", &size); err != nil {
		t.Fatalf("%s: %s: %v", tree, file, err)
	}
	mark := strings.TrimSuffix(head[strings.Index(head, "MARK-"):strings.Index(head, " here.")], "-HEAD")
	tail := "\nKeep to " + mark + "-TAIL here.\n"
	if tree == "24b-big40k-nested" && mark == "MARK-BIG" {
		tail = "\nKeep to MARK-BIG-MID here.\n"
	}
	const filler = "filler words here.\n"
	for len(head)+len(tail)+len(filler) <= size {
		head += filler
	}
	return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
}

// merged is two JSON objects as one.
func merged(t testing.TB, a, b string) string {
	t.Helper()
	var x, y map[string]any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	for k, v := range y {
		x[k] = v
	}
	out, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// disagreements are rows in which Loads and a program differ, with the reason.
var disagreements = map[string]string{}

// Every program has of every tree what it had when it was measured.
func TestLoadsAgreesWithMeasurements(t *testing.T) {
	m := readGolden(t)
	used := map[string]bool{}
	rows := 0
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range m.Trees {
			if !yield(n) {
				return
			}
		}
	}) {
		tree := m.Trees[name]
		machine, dir := machineOf(t, m, name)
		for _, program := range catalog.Runtimes() {
			if m.Versions[program.ID] == "" {
				continue
			}
			got, err := Loads(program, machine, path.Join(dir, tree.Start), path.Join(dir, tree.Read))
			if err != nil {
				t.Fatal(err)
			}
			for row, cells := range tree.Loads {
				cell, measured := cells[program.ID]
				if !measured {
					continue
				}
				rows++
				marker := row[strings.LastIndex(row, " ")+1:]
				id := program.ID + " " + name + " " + row
				if have := copies(got, marker); have != cell {
					if disagreements[id] == "" {
						t.Errorf("%s: the program had %s, Loads says %s\n%s", id, cell, have, summary(got))
					}
					used[id] = true
				}
			}
		}
	}
	if rows != 2726 {
		t.Errorf("looked at %d rows, want 2726", rows)
	}
	for id := range disagreements {
		if !used[id] {
			t.Errorf("%s: no disagreement any more", id)
		}
	}
}

// copies counts a marker as the golden writes it.
func copies(r Result, marker string) string {
	start, total := 0, 0
	for _, i := range r.Items {
		n := 0
		for rest := string(i.Text); ; n++ {
			_, after, ok := strings.Cut(rest, marker)
			if !ok {
				break
			}
			if rest = after; after != "" && (after[0] == '-' || after[0] >= 'A' && after[0] <= 'Z' || after[0] >= '0' && after[0] <= '9') {
				n-- // of a longer marker
			}
		}
		start, total = start+n*i.Start, total+n*i.Total
	}
	if start == total {
		return fmt.Sprint(start)
	}
	return fmt.Sprint(start, " ", total)
}

func summary(r Result) string {
	var b strings.Builder
	for _, i := range r.Items {
		fmt.Fprintf(&b, "  %-7s %d %d %s %v", i.Kind, i.Start, i.Total, i.When, i.Paths)
		for _, f := range i.From {
			fmt.Fprintf(&b, " %s via %v", f.Path, f.Via)
		}
		b.WriteByte('\n')
	}
	for _, n := range r.Never {
		fmt.Fprintf(&b, "  never %s %s: %s, %s\n", n.Kind, n.Path, n.Reason, n.Says)
	}
	return b.String()
}

func program(t testing.TB, id string) spec.Runtime {
	t.Helper()
	for _, r := range catalog.Runtimes() {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("no runtime %s", id)
	return spec.Runtime{}
}
