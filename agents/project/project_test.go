package project

import (
	"os"
	"path/filepath"
	"testing"
)

func touch(t *testing.T, top string, names ...string) {
	t.Helper()
	for _, n := range names {
		path := filepath.Join(top, n)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRootIsNearestProject(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	touch(t, top, "app/.ai/protocols.org", "app/.git/HEAD", "app/src/deep/x", "app/vendor/sub/.git", "app/vendor/sub/x",
		"app/inner/.ai/protocols.org", "app/inner/lib/x", "plain/sub/x", "work/.git", "work/lib/x", "app-2/x", "odd/.ai/session-context.org")
	for link, to := range map[string]string{"link": "app", "app-2/into": "../app/src", "plain/loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{
		"app":            "app",
		"app/src/deep":   "app",
		"app/vendor/sub": "app", // a submodule is a part of the project
		"app/inner/lib":  "app/inner",
		"link":           "app",
		"link/src":       "app",
		"app-2/into":     "app",
		"app-2":          "app-2",
		"work/lib":       "work", // a linked work tree: .git is a file
		"plain/sub":      "plain/sub",
		"odd":            "odd",
	} {
		if got, err := Root(filepath.Join(top, dir)); err != nil || got != filepath.Join(top, want) {
			t.Errorf("%s: %s, %v; want %s", dir, got, err, want)
		}
	}
	for _, dir := range []string{"missing", "plain/loop", "plain/sub/x"} {
		if got, err := Root(filepath.Join(top, dir)); err == nil {
			t.Errorf("%s: %s", dir, got)
		}
	}
	t.Chdir(filepath.Join(top, "app/src"))
	if got, err := Root("."); err != nil || got != filepath.Join(top, "app") {
		t.Errorf("from within: %s, %v", got, err)
	}
}

func TestHoldsComparesWholeNames(t *testing.T) {
	for _, c := range []struct {
		root, path string
		want       bool
	}{
		{"/a/app", "/a/app", true}, {"/a/app", "/a/app/x", true}, {"/a/app", "/a/app-2", false},
		{"/a/app", "/a", false}, {"/", "/x", true},
	} {
		if got := Holds(c.root, c.path); got != c.want {
			t.Errorf("%s holds %s: %v", c.root, c.path, got)
		}
	}
}
