package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// beside clones s into the folder name beside its other clones, and returns the
// clone's top.
func beside(t *testing.T, s Source, name string) string {
	t.Helper()
	top := filepath.Join(s.Beside, name)
	if _, err := Clone(t.Context(), s, top); err != nil {
		t.Fatal(err)
	}
	return top
}

// objects are the files that hold what a clone has, by their places in it.
func objects(t *testing.T, top string) map[string]os.FileInfo {
	t.Helper()
	out := map[string]os.FileInfo{}
	for _, pattern := range []string{"pack/*.pack", "??/*"} {
		found, err := filepath.Glob(filepath.Join(top, ".git/objects", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(top, name)
			out[rel] = info
		}
	}
	return out
}

func TestCloneBorrowsFromAnotherOfTheRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("one\n")
	r.git("branch", "gone")
	s := Source{URL: r.url(), Beside: t.TempDir()}
	first := beside(t, s, "first")
	lent := objects(t, first)

	// The repository goes on: what is new is fetched, what is old is shared, what is
	// gone is gone.
	r.git("branch", "-D", "gone")
	two := r.commit("two\n")
	second := beside(t, s, ".new-1/tree")
	got := objects(t, second)
	if len(got) <= len(lent) {
		t.Errorf("nothing was fetched: %v", got)
	}
	for name, info := range lent {
		if !os.SameFile(info, got[name]) {
			t.Errorf("%s was fetched again", name)
		}
	}
	if id, err := Head(t.Context(), second); err != nil || id != two {
		t.Errorf("at %s, %v; want %s", id, err, two)
	}
	s.Ref = "gone"
	if _, err := Clone(t.Context(), s, filepath.Join(s.Beside, "none")); err == nil || !strings.Contains(err.Error(), `"gone": no such branch`) {
		t.Errorf("%v", err)
	}

	// One that is alike, but of another place, lends nothing.
	copied := filepath.Join(t.TempDir(), "copy")
	r.git("clone", "-q", "--bare", r.dir, copied)
	other := beside(t, Source{URL: "file://" + copied, Beside: s.Beside}, "other")
	for name, info := range objects(t, other) {
		if os.SameFile(info, got[name]) {
			t.Errorf("%s is that of another repository", name)
		}
	}
}

func TestBrokenCloneLendsNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.commit("one\n")
	for name, spoil := range map[string]func(t *testing.T, pack string){
		"cut off": func(t *testing.T, pack string) {
			if err := os.Truncate(pack, 20); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(t *testing.T, pack string) {
			if err := os.Remove(pack); err != nil {
				t.Fatal(err)
			}
		},
	} {
		s := Source{URL: r.url(), Beside: t.TempDir()}
		first := beside(t, s, "first")
		for file := range objects(t, first) {
			file = filepath.Join(first, file)
			if err := os.Chmod(file, 0o644); err != nil {
				t.Fatal(err)
			}
			spoil(t, file)
		}
		second := beside(t, s, "second")
		if text, err := os.ReadFile(filepath.Join(second, "a.md")); err != nil || string(text) != "one\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if id, err := Head(t.Context(), second); err != nil || id != one {
			t.Errorf("%s: at %s, %v", name, id, err)
		}
	}
}

func TestFolderAloneIsWritten(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, name := range []string{"plugins/[a]/x.md", "plugins/a/x.md", "b.md"} {
		if err := os.MkdirAll(filepath.Join(r.dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one := r.commit("one\n")
	for folder, want := range map[string]string{
		"plugins/[a]": "plugins/[a]/x.md",
		"plugins/a/":  "plugins/a/x.md",
		"./plugins":   "plugins/[a]/x.md plugins/a/x.md",
		"b.md":        "a.md b.md plugins/[a]/x.md plugins/a/x.md", // no folder
		"none":        "a.md b.md plugins/[a]/x.md plugins/a/x.md",
		"../x":        "a.md b.md plugins/[a]/x.md plugins/a/x.md",
	} {
		dst := filepath.Join(t.TempDir(), "out")
		if id, err := Clone(t.Context(), Source{URL: r.url(), Folder: folder}, dst); err != nil || id != one {
			t.Fatalf("%s: %s, %v", folder, id, err)
		}
		if id, err := Head(t.Context(), dst); err != nil || id != one {
			t.Errorf("%s: at %s, %v", folder, id, err)
		}
		var got []string
		err := filepath.WalkDir(dst, func(path string, d os.DirEntry, err error) error {
			if d.IsDir() && d.Name() == ".git" {
				return filepath.SkipDir
			}
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(dst, path)
				got = append(got, rel)
			}
			return err
		})
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v; want %q", folder, got, err, want)
		}
	}
}
