package gitrepo

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What stands in the file stays, byte for byte, while patterns come and go.
func TestExcludesKeepWhatIsThere(t *testing.T) {
	for name, before := range map[string]string{
		"nothing": "", "a line without an end": "*.swp", "lines of git": "# git ls-files\n*~\n", "CRLF": "*.o\r\n*.a\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			at := filepath.Join(dir, ".git", "info", "exclude")
			write(t, at, before)
			sub := filepath.Join(dir, "a b")
			for _, d := range []string{dir, sub} {
				put(t, d, []string{"x [1].md", "y*.md"}, false)
			}
			for _, file := range []string{"x [1].md", "y*.md", "a b/x [1].md"} {
				write(t, filepath.Join(dir, file), "1")
				if err := exec.Command("git", "-C", dir, "check-ignore", "-q", file).Run(); err != nil {
					t.Errorf("git does not ignore %s: %v", file, err)
				}
			}
			write(t, filepath.Join(dir, "yy.md"), "1")
			if err := exec.Command("git", "-C", dir, "check-ignore", "-q", "yy.md").Run(); err == nil {
				t.Error("git ignores a file that no pattern is for")
			}
			e, ok := ReadExcludes(dir)
			if missing := e.Missing([]string{"x [1].md", "z.md"}); !ok || !slices.Equal(missing, []string{"z.md"}) {
				t.Errorf("missing %q, %v", missing, ok)
			}
			put(t, dir, nil, true) // the files are there still
			if text, err := os.ReadFile(at); err != nil || strings.Count(string(text), "x") < 2 {
				t.Errorf("error %v, text %q", err, text)
			}
			for _, file := range []string{"x [1].md", "y*.md", "a b/x [1].md"} {
				if err := os.Remove(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			}
			put(t, dir, nil, true)
			put(t, sub, nil, true)
			want := before
			if before != "" && !strings.HasSuffix(before, "\n") {
				want += "\n"
			}
			if text, err := os.ReadFile(at); err != nil || string(text) != want {
				t.Errorf("error %v, text %q, want %q", err, text, want)
			}
		})
	}
}

// A linked work tree keeps its patterns where git looks for them, beside those of
// the others.
func TestExcludesOfLinkedWorkTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "main")
	tree := filepath.Join(filepath.Dir(dir), "tree")
	for _, args := range [][]string{
		{"init", "-q", dir}, {"-C", dir, "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "1"}, {"-C", dir, "worktree", "add", "-q", tree},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	put(t, dir, []string{"main.md"}, false)
	put(t, tree, []string{"tree.md"}, false)
	for _, file := range []string{"main.md", "tree.md"} {
		if err := exec.Command("git", "-C", tree, "check-ignore", "-q", file).Run(); err != nil {
			t.Errorf("git does not ignore %s: %v", file, err)
		}
	}
	put(t, tree, nil, true)
	if e, _ := ReadExcludes(dir); len(e.Missing([]string{"main.md"})) > 0 {
		t.Errorf("the patterns of the other work tree went: %s", e.text)
	}
	if _, ok := ReadExcludes(t.TempDir()); ok {
		t.Error("a folder outside any work tree has excludes")
	}
}

func put(t *testing.T, dir string, files []string, gone bool) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	e, ok := ReadExcludes(dir)
	if !ok {
		t.Fatalf("%s is in no work tree", dir)
	}
	if text, changed := e.With(files, gone); changed {
		write(t, e.File, string(text))
	}
}

func write(t *testing.T, at, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
