package catalog

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lay puts a language's programs into a folder, executable.
func lay(t *testing.T, language string) string {
	t.Helper()
	dir := t.TempDir()
	common, err := fs.Sub(Bundles(), "languages/"+language+"/common")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, common); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Chmod(p, 0o755)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// languages have a program that must be there for their checks to say
// anything, and a good and a bad file.
var languages = []struct{ name, needs, file, good, bad, complaint string }{
	{"go", "go", "x.go", "package x\n\n// A is one.\nconst A = 1\n", "package x\nconst  A = 1\n", "is not formatted"},
	{"go", "go", "y.go", "package y\n", "package y {\n", "y.go:1"},
	{"python", "python3", "x.py", "a = 1\n", "def f(:\n    pass\n", "SyntaxError"},
	{"elisp", "emacs", "x.el", "(defvar x 1)\n", "(defvar x (1)\n", "x.el:1"},
}

func TestBundleHooksReportBadEdits(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name+" "+l.file, func(t *testing.T) {
			if _, err := exec.LookPath(l.needs); err != nil {
				t.Skipf("%s is not installed", l.needs)
			}
			program, dir := filepath.Join(lay(t, l.name), "hooks/check-"+l.name+".sh"), t.TempDir()
			check := func(text string) (int, string) {
				t.Helper()
				file := filepath.Join(dir, l.file)
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(program)
				cmd.Dir = dir
				cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"hook_event_name": "PostToolUse", "tool_input": {"file_path": %q, "content": "x"}}`, file))
				var complaints bytes.Buffer
				cmd.Stderr = &complaints
				_ = cmd.Run() // the code says it
				return cmd.ProcessState.ExitCode(), complaints.String()
			}
			if code, said := check(l.good); code != 0 || said != "" {
				t.Errorf("of a good file: code %d, %q", code, said)
			}
			if code, said := check(l.bad); code != 2 || !strings.Contains(said, l.complaint) {
				t.Errorf("of a bad file: code %d, %q; want %q", code, said, l.complaint)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("it left %v behind", left)
			}
			cmd := exec.Command(program)
			cmd.Stdin = strings.NewReader(`{"tool_input": {"command": "ls"}}`)
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("of another tool: %v %s", err, out)
			}
		})
	}
}

func TestBundleGitHooksRefuseBadCommits(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name+" "+l.file, func(t *testing.T) {
			if _, err := exec.LookPath(l.needs); err != nil {
				t.Skipf("%s is not installed", l.needs)
			}
			hooks, dir := filepath.Join(lay(t, l.name), "githooks"), t.TempDir()
			git := func(args ...string) (string, error) {
				cmd := exec.Command("git", append([]string{"-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "core.hooksPath=" + hooks}, args...)...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			stage := func(text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, l.file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if out, err := git("add", "."); err != nil {
					t.Fatal(out)
				}
			}
			if out, err := git("init", "-q"); err != nil {
				t.Fatal(out)
			}
			stage(l.bad)
			// What counts is what is staged, not what lies beside it.
			if err := os.WriteFile(filepath.Join(dir, l.file), []byte(l.good), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := git("commit", "-q", "-m", "bad"); err == nil || !strings.Contains(out, "pre-commit: "+l.file) {
				t.Errorf("a bad file was committed: %v\n%s", err, out)
			}
			stage(l.good)
			if out, err := git("commit", "-q", "-m", "good"); err != nil {
				t.Errorf("a good file was refused: %v\n%s", err, out)
			}
		})
	}
}
