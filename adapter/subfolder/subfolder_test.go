package subfolder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEncloses(t *testing.T) {
	for _, c := range []struct {
		outer, folder string
		want          bool
	}{{"", "a", true}, {"a", "a", true}, {"a", "a/b", true}, {"a", "ab", false}, {"a/b", "a", false}} {
		if got := Encloses(c.outer, c.folder); got != c.want {
			t.Errorf("%q %q: %v", c.outer, c.folder, got)
		}
	}
}

func TestLook(t *testing.T) {
	root := filepath.Join(t.TempDir(), "p")
	for _, dir := range []string{"packages/api", "../outside"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"inside": "packages/api", "out": "../outside", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		"packages/api": "", "packages/web": "packages/web is no folder of this project", "inside": "name packages/api", "file": "is a file",
		"out": "error: folder out is a link out of the project", "loop": "error: folder loop",
	} {
		got, err := Look(root, folder)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}
