package effects

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// opens notes which files are opened.
type opens struct {
	fsys.Reader
	names []string
}

func (o *opens) Open(p fsys.LogicalPath) (*os.File, error) {
	o.names = append(o.names, string(p))
	return o.Reader.Open(p)
}

// Of a thousand files that a plan leaves as they are, those are read that a
// program obeys or may run.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	files := map[string]string{"agent.json": `{"plugin": ["./tools/a.js"]}`, "tools/a.js": "x", ".agent/run": "#!/bin/sh\n", ".agent/lib.py": "x"}
	for i := range 40 {
		files[fmt.Sprintf(".agent/rules/%d.md", i)] = "# Rule\n"
	}
	p := folder(t, files)
	if err := os.Chmod(filepath.Join(p.Dir, ".agent/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	own := agent
	own.Project.Dir = ".agent"
	p.Runtimes = []spec.Runtime{own}
	disk, err := fsys.New(fsys.Options{Project: p.Dir, Home: "/home/me"})
	if err != nil {
		t.Fatal(err)
	}
	plan := &reconcile.Plan{}
	for name, text := range files {
		body := file.Whole([]byte(text), 0o644)
		plan.Changes = append(plan.Changes, reconcile.Change{
			Target: reconcile.Target{Resource: reconcile.Resource{Address: reconcile.Address("file:" + name), Leaves: []reconcile.Leaf{{Body: body}}}},
			Before: reconcile.Observation{Presence: reconcile.Present, Token: body.Fingerprint()},
			Action: reconcile.None,
		})
	}
	seen := &opens{Reader: disk}
	var got []string
	for _, e := range Of(p, reconcile.ReadEnv{FS: seen, Home: "/home/me"}, plan) {
		got = append(got, e.Text)
	}
	if diff := cmp.Diff([]string{"may run .agent/run", "may run .agent/lib.py", "loads ./tools/a.js as code"}, got, cmp.Transformer("sort", func(s []string) []string { return slices.Sorted(slices.Values(s)) })); diff != "" {
		t.Error(diff)
	}
	slices.Sort(seen.names)
	if diff := cmp.Diff([]string{".agent/lib.py", ".agent/run", "agent.json", "tools/a.js"}, seen.names); diff != "" {
		t.Error(diff)
	}
}

// Of files that a plan makes anew, sources are read only where a program obeys or
// may run them: a text in a program's folder is neither.
func TestSourcesOfNewTextsAreNotRead(t *testing.T) {
	p := folder(t, nil)
	own := agent
	own.Project.Dir = ".agent"
	p.Runtimes = []spec.Runtime{own}
	disk, err := fsys.New(fsys.Options{Project: p.Dir, Home: "/home/me"})
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	plan := &reconcile.Plan{}
	add := func(name, text string, mode os.FileMode) {
		source := filepath.Join(t.TempDir(), "source")
		if err := os.WriteFile(source, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		body := file.FromSource(source, reconcile.Fingerprint(fsys.Digest([]byte(text))), mode, func(b []byte) []byte {
			read = append(read, name)
			return b
		})
		c := reconcile.Change{Target: reconcile.Target{Resource: reconcile.Resource{Address: reconcile.Address("file:" + name), Leaves: []reconcile.Leaf{{Body: body}}}}, Action: reconcile.Create}
		c.Leaves = []reconcile.LeafChange{{Want: &c.Target.Resource.Leaves[0], Decision: reconcile.Decision{Action: reconcile.Create}}}
		plan.Changes = append(plan.Changes, c)
	}
	for i := range 40 {
		add(fmt.Sprintf(".agent/rules/%d.md", i), "# Rule\n", 0o644)
	}
	add(".agent/run", "#!/bin/sh\n", 0o755)
	add(".agent/lib.py", "x", 0o644)
	add("agent.json", `{"plugin": ["./a.js"]}`, 0o644)
	var got []string
	for _, e := range Of(p, reconcile.ReadEnv{FS: disk, Home: "/home/me"}, plan) {
		got = append(got, e.Text)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"loads ./a.js as code", "may run .agent/lib.py", "may run .agent/run"}, got); diff != "" {
		t.Error(diff)
	}
	slices.Sort(read)
	if diff := cmp.Diff([]string{".agent/lib.py", ".agent/run", "agent.json"}, slices.Compact(read)); diff != "" {
		t.Error(diff)
	}
}

// A planned file is known by its path with all links resolved: links to its
// folder, in its own place, and links that the plan makes.
func TestPlannedFilesAreKnownByTheirRealPaths(t *testing.T) {
	files := map[string]string{"real/deep/f": "x", "plain/f": "x", "f": "x"}
	for _, planned := range []bool{false, true} {
		p := folder(t, files)
		for at, to := range map[string]string{"linked": "real", "plain/own": "f", "plain/away": "/etc/passwd", "out": "/etc", "own": "plain/f", "lost": "gone"} {
			if err := os.Symlink(to, filepath.Join(p.Dir, at)); err != nil {
				t.Fatal(err)
			}
		}
		plan := &reconcile.Plan{}
		if planned {
			plan.Changes = append(plan.Changes, linkTo("new", "real/deep"), linkTo("new-own", "plain/f"))
		}
		want := map[string]string{}
		names := []string{"f", "own", "plain/f", "plain/own", "plain/away", "linked/deep/f", "linked/none", "out/passwd", "none/f", "lost/f", "new/f", "new/none", "new-own", "real/deep/g"}
		for _, name := range names {
			plan.Changes = append(plan.Changes, reconcile.Change{Target: reconcile.Target{Resource: reconcile.Resource{Address: reconcile.Address("file:" + name)}}})
		}
		tree := newTree(p.Dir, reconcile.ReadEnv{}, plan)
		slices.Sort(names)
		for _, name := range names {
			want[tree.resolve(name)] = name
			_, err := os.Lstat(filepath.Join(p.Dir, name))
			if there := tree.after[name].info != nil; there != (err == nil) {
				t.Errorf("%s: seen %v, want %v", name, there, err == nil)
			}
		}
		if diff := cmp.Diff(want, tree.real); diff != "" {
			t.Errorf("with planned links %v: %s", planned, diff)
		}
	}
}

// linkTo is a change that makes the link at.
func linkTo(at, target string) reconcile.Change {
	c := reconcile.Change{Target: reconcile.Target{Resource: reconcile.Resource{Address: reconcile.Address("link:" + at), Leaves: []reconcile.Leaf{{Body: link.To(target)}}}}, Action: reconcile.Create}
	c.Leaves = []reconcile.LeafChange{{Want: &c.Target.Resource.Leaves[0], Decision: reconcile.Decision{Action: reconcile.Create}}}
	return c
}
