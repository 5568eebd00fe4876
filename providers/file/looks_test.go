package file

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// counted is a Reader that counts the looks at paths, by method.
type counted struct {
	fsys.Reader
	mu    sync.Mutex
	looks map[string]int
}

func (c *counted) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks[name]++
}

func (c *counted) Lstat(p fsys.LogicalPath) (fs.FileInfo, error) {
	c.count("Lstat")
	return c.Reader.Lstat(p)
}

func (c *counted) Open(p fsys.LogicalPath) (*os.File, error) {
	c.count("Open")
	return c.Reader.Open(p)
}

func (c *counted) Digest(p fsys.LogicalPath) (string, fs.FileMode, error) {
	c.count("Digest")
	return c.Reader.Digest(p)
}

func (c *counted) ReadDir(p fsys.LogicalPath) ([]fs.DirEntry, error) {
	c.count("ReadDir")
	return c.Reader.ReadDir(p)
}

func (c *counted) Writable(p fsys.LogicalPath) error {
	c.count("Writable")
	return c.Reader.Writable(p)
}

// newFiles are n files of a project in one folder that is not there, with their
// sources.
func newFiles(t *testing.T, n int) (reconcile.ReadEnv, *counted, []reconcile.Change) {
	t.Helper()
	top := t.TempDir()
	disk, err := fsys.New(fsys.Options{Project: top, Home: "/home/me", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Reader: disk, looks: map[string]int{}}
	r := reconcile.ReadEnv{FS: c, Home: "/home/me"}
	var targets []reconcile.Target
	for i := range n {
		source, text := filepath.Join(t.TempDir(), "rule.md"), fmt.Sprintf("rule %d\n", i)
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		body := FromSource(source, reconcile.Fingerprint(fsys.Digest([]byte(text))), 0o644, nil)
		targets = append(targets, reconcile.Target{Resource: reconcile.Resource{
			Address: reconcile.Address(fmt.Sprintf("file:.claude/rules/r%d.md", i)), Leaves: []reconcile.Leaf{{Body: body}},
		}})
	}
	var changes []reconcile.Change
	for i, o := range (Provider{}).Observe(t.Context(), r, targets) {
		if o.Presence != reconcile.Absent {
			t.Fatalf("%+v", o)
		}
		changes = append(changes, reconcile.Change{Target: targets[i], Action: reconcile.Create, Before: o, Leaves: []reconcile.LeafChange{
			{Want: &targets[i].Resource.Leaves[0], Decision: reconcile.Decision{Action: reconcile.Create}},
		}})
	}
	return r, c, changes
}

// A file that is not there is looked for once, not in each folder above it.
func TestNewFilesAreLookedForOnce(t *testing.T) {
	const n = 40
	r, c, changes := newFiles(t, n)
	want := func(step string, looks map[string]int) {
		t.Helper()
		if !maps.Equal(c.looks, looks) {
			t.Errorf("%s of %d new files: %v, want %v", step, n, c.looks, looks)
		}
		clear(c.looks)
	}
	want("Observe", map[string]int{"Digest": n})
	for _, change := range changes {
		if lines := (Provider{}).Explain(t.Context(), r, change); len(lines) != 1 || lines[0].Op != '+' {
			t.Errorf("explained as %v", lines)
		}
	}
	want("Explain", map[string]int{"Open": n})
	if problems := (Provider{}).Preflight(t.Context(), r, changes); len(problems) != 0 {
		t.Error(problems)
	}
	want("Preflight", map[string]int{"Writable": 1}) // they have one folder
}

// Each file of a folder that cannot be written to is a problem.
func TestPreflightNamesEachFile(t *testing.T) {
	r, c, changes := newFiles(t, 3)
	at, err := c.Physical(".claude")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, nil, 0o644); err != nil { // where the folder should be; root may write to any folder
		t.Fatal(err)
	}
	var got []reconcile.Address
	for _, p := range (Provider{}).Preflight(t.Context(), r, changes) {
		got = append(got, p.Address)
	}
	if want := []reconcile.Address{"file:.claude/rules/r0.md", "file:.claude/rules/r1.md", "file:.claude/rules/r2.md"}; !slices.Equal(got, want) {
		t.Errorf("problems of %v, want %v", got, want)
	}
}

// WritesText is right wherever it says something: After, which reads, agrees.
func TestWritesTextAgreesWithAfter(t *testing.T) {
	r, _, changes := newFiles(t, 1)
	with := func(body reconcile.Body, key reconcile.LeafKey, a reconcile.Action) reconcile.Change {
		c := changes[0]
		c.Leaves = []reconcile.LeafChange{{Key: key, Want: &reconcile.Leaf{Key: key, Body: body}, Decision: reconcile.Decision{Action: a}}}
		return c
	}
	text, script := Whole([]byte("text\n"), 0o644), Whole([]byte("#!/bin/sh\n"), 0o755)
	two, exact, gone := with(text, "", reconcile.Create), with(text, "", reconcile.Update), with(text, "", reconcile.Delete)
	two.Leaves = append(two.Leaves, with(Line(""), "line:a", reconcile.Create).Leaves[0])
	token := reconcile.Fingerprint("")
	exact.Exact = &token
	gone.Leaves[0].Want = nil
	for name, c := range map[string]struct {
		change reconcile.Change
		want   bool
	}{
		"a source":         {changes[0], true},
		"a text":           {with(text, "", reconcile.Create), true},
		"a changed text":   {with(text, "", reconcile.Update), true},
		"a script":         {with(script, "", reconcile.Create), false},
		"a changed script": {with(script, "", reconcile.Update), false},
		"a first content":  {with(text, reconcile.Seed, reconcile.Create), false},
		"a line":           {with(Line(""), "line:a", reconcile.Create), false},
		"a file and more":  {two, false},
		"nothing to write": {with(text, "", reconcile.None), false},
		"an adopted file":  {with(text, "", reconcile.Accept), false},
		"a deletion":       {gone, false},
		"a rollback":       {exact, false},
	} {
		if got := WritesText(c.change); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if _, exec, _, err := After(r, c.change); c.want && (exec || err != nil) {
			t.Errorf("%s: executable %v, %v", name, exec, err)
		}
	}
}
