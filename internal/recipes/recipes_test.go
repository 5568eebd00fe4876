package recipes

import (
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// top is the folder of the module.
var top = filepath.Join("..", "..")

// titles are the recipes that CONTRIBUTING.md must have.
var titles = []string{"A provider", "A runtime", "A doctor check", "A task executor", "A merge format"}

// inWords are those that have no steps here, and why.
var inWords = map[string]string{
	"A merge format": "docs/recipes/merge-format.md has the steps, and internal/merge/mergetest the test",
}

// Each recipe is followed in a copy of the module: its proof must pass then, and
// fail where only its tests are there. Without -short it must also fail where
// any one other step is left out.
func TestRecipes(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs go in PATH")
	}
	doc, err := os.ReadFile(filepath.Join(top, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := parse(string(doc))
	if err != nil {
		t.Fatalf("CONTRIBUTING.md: %v", err)
	}
	var got []string
	for _, r := range all {
		got = append(got, r.title)
	}
	if !slices.Equal(got, titles) {
		t.Fatalf("CONTRIBUTING.md has the recipes %q, want %q", got, titles)
	}
	files := tracked(t)
	env := environment(t)
	for _, r := range all {
		t.Run(r.title, func(t *testing.T) {
			if why, ok := inWords[r.title]; ok {
				if len(r.steps) > 0 || r.proof != "" {
					t.Errorf("it has steps, and is excused from having them: %s", why)
				}
				return
			}
			if len(r.steps) == 0 || r.proof == "" {
				t.Fatal("it has no steps, or no proof")
			}
			for _, s := range r.steps {
				if !strings.HasSuffix(s.file, ".go") || s.edit {
					continue
				}
				if f, err := format.Source([]byte(s.text)); err != nil || string(f) != s.text {
					t.Errorf("%s is not formatted by gofmt: %v", s.file, err)
				}
			}
			must(t, true, env, files, r, "with every step", func(step) bool { return true })
			must(t, false, env, files, r, "with its tests alone", step.proves)
			if testing.Short() {
				return
			}
			for _, out := range r.steps {
				if others := slices.DeleteFunc(slices.Clone(r.steps), step.proves); !out.proves() && len(others) > 1 {
					must(t, false, env, files, r, "without its step for "+out.file, func(s step) bool { return s != out })
				}
			}
		})
	}
}

// must fails unless the proof of r passes, or fails, in a copy with the steps
// that take says.
func must(t *testing.T, pass bool, env, files []string, r recipe, how string, take func(step) bool) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		if err := place(filepath.Join(dir, name), filepath.Join(top, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for _, s := range r.steps {
		if !take(s) {
			continue
		}
		if err := s.apply(dir); err != nil {
			t.Fatalf("CONTRIBUTING.md:%d: %v", s.line, err)
		}
	}
	cmd := exec.Command("bash", "-euxo", "pipefail", "-c", r.proof)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err == nil && strings.Contains(string(out), "[no test") { // no test files, or no tests to run
		err = errors.New("a command ran no test")
	}
	switch {
	case pass && err != nil:
		t.Fatalf("%s the proof fails: %v\n%s", how, err, out)
	case !pass && err == nil:
		t.Fatalf("%s the proof passes:\n%s", how, out)
	}
}

// environment has none of the settings of the person who runs the test, and
// Go's caches where they are. Without -trimpath every copy would be compiled anew.
func environment(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8",
		"CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off",
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOTOOLCHAIN"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatalf("go env %s: %v", name, err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

// tracked are the files of the module, as git has them and as they are being
// worked on.
func tracked(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = top
	out, err := list.Output()
	if err != nil {
		t.Skipf("needs a checkout by git: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// place copies a file, or a link as it is.
func place(to, from string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file", from)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}
