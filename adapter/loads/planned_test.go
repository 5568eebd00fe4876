package loads

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A tree that is planned over a real one answers as the real one does once the
// plan was carried out.
func TestPlannedIsTheTreeAfterwards(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put("p/.git/HEAD", "")
	put("p/CLAUDE.md", "# Mine\n")
	put("p/.claude/rules/old.md", "# Old\n")
	put("p/.claude/rules/kept.md", "# Kept\n")
	real, ok := os.DirFS("/").(Tree)
	if !ok {
		t.Fatal("os.DirFS is no Tree")
	}
	ask := func(tree Tree) Result {
		r, err := Loads(program(t, "claude"), Machine{Tree: tree, Home: dir + "/h"}, dir+"/p", dir+"/p/x.go")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	planned := ask(&Planned{
		Base:    real,
		Files:   map[string][]byte{dir + "/p/AGENTS.md": []byte("# Mine\n"), dir + "/p/.claude/rules/new/n.md": []byte("---\npaths: ['*.go']\n---\n# New\n")},
		Links:   map[string]string{dir + "/p/CLAUDE.md": "AGENTS.md"},
		Removed: []string{dir + "/p/.claude/rules/old.md"},
	})
	put("p/AGENTS.md", "# Mine\n")
	put("p/.claude/rules/new/n.md", "---\npaths: ['*.go']\n---\n# New\n")
	if err := errors.Join(os.Remove(dir+"/p/CLAUDE.md"), os.Symlink("AGENTS.md", dir+"/p/CLAUDE.md"), os.Remove(dir+"/p/.claude/rules/old.md")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ask(real), planned); diff != "" {
		t.Error(diff)
	}
	if len(planned.Items) != 3 {
		t.Errorf("%d items, want 3", len(planned.Items))
	}
}

func TestPlannedHidesWhatIsRemoved(t *testing.T) {
	base := &Planned{Files: map[string][]byte{"/a/b/c": []byte("1"), "/a/d": []byte("2")}, Links: map[string]string{"/a/l": "d"}}
	p := &Planned{Base: base, Removed: []string{"/a/b", "/a/l"}, Files: map[string][]byte{"/a/l/x": nil}}
	for _, gone := range []string{"a/b", "a/b/c", "nothing"} {
		if _, err := p.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
		if _, err := p.ReadFile(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
		if _, err := p.ReadDir(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
	}
	if _, err := p.ReadLink("a/l"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder in place of a link: %v", err)
	}
	list, err := p.ReadDir("a")
	var names []string
	for _, e := range list {
		names = append(names, e.Name()+e.Type().String())
	}
	if diff := cmp.Diff([]string{"d----------", "ld---------"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
