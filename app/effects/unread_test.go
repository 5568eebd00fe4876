package effects

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/providers/file"
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
