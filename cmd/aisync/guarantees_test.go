package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/app/stack"
)

// quickRaceExit spares each program that the race detector is built into the
// second that it waits for late reports at its end.
const quickRaceExit = "GORACE=atexit_sleep_ms=10"

// person is a scratch machine and project in which the program is run.
type person struct {
	dir  string
	args []string
	env  []string
}

func newPerson(t *testing.T) person {
	t.Helper()
	p := person{dir: t.TempDir()}
	if err := os.CopyFS(p.dir, os.DirFS(filepath.Join("..", "..", "golden", "contract"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "rulesets", "bundle.json"), []byte(scopedByProse), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "root/home/me"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.args = []string{"--root", p.dir + "/root", "--host", "velox", "--config", p.dir + "/host"}
	p.env = []string{"HOME=/home/me", "PATH=" + os.Getenv("PATH"), "AISYNC_OFFLINE=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", quickRaceExit}
	git := exec.Command("git", "init", "-q", "-b", "main", p.project())
	git.Env = p.env
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return p
}

func (p person) project() string { return filepath.Join(p.dir, "project") }

// aisync is the program, not yet started.
func (p person) aisync(args ...string) *exec.Cmd {
	cmd := exec.Command("aisync", append(p.args, args...)...)
	cmd.Dir, cmd.Env = p.project(), p.env
	return cmd
}

func (p person) must(t *testing.T, args ...string) {
	t.Helper()
	if out, err := p.aisync(args...).CombinedOutput(); err != nil {
		t.Fatalf("aisync %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// tree is every entry below dir with its mode and content; git's own folder is
// left out, its config not.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if in, ok := strings.CutPrefix(rel, ".git/"); ok && in != "config" {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[rel] += fmt.Sprintf(" %x %s", sha256.Sum256(b), info.ModTime())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadOnlyCommandsWriteNothing(t *testing.T) {
	p := newPerson(t)
	look := func(when string) {
		before := tree(t, p.dir)
		for _, args := range [][]string{
			{"validate"}, {"plan"}, {"plan", "--json"}, {"drift"}, {"drift", "--scope", "all", "--format", "sarif"}, {"status"},
			{"plan", "--all", "--below", p.project()}, {"drift", "--all", "--below", p.project()}, {"doctor", "--all", "--offline", "--below", p.project()}, {"destroy", "--scope", "project", "--dry-run"},
			{"facts"}, {"doctor", "--deep"}, {"version"}, {"completion", "bash"}, {"help"},
		} {
			out, err := p.aisync(args...).CombinedOutput()
			if _, ran := err.(*exec.ExitError); err != nil && !ran {
				t.Fatal(err)
			}
			if after := tree(t, p.dir); !maps.Equal(before, after) {
				t.Errorf("%s: aisync %s changed the machine\n%s", when, strings.Join(args, " "), out)
				before = after
			}
		}
	}
	look("on an empty machine")
	p.must(t, "apply", "--scope", "project", "--yes", "--trust")
	look("after an apply")
	if err := os.WriteFile(filepath.Join(p.project(), ".claude/rules/elisp.md"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	look("with drift")
}

// The user's settings are there before the first apply, and must come through.
const usersSettings = "{\n  \"model\" :  \"opus\"\n}\n"

func TestKilledApplyLeavesOldOrNewBytes(t *testing.T) {
	whole := newPerson(t)
	settings := func(p person) string { return filepath.Join(p.project(), ".claude/settings.json") }
	prepare := func(p person) {
		if err := os.MkdirAll(filepath.Dir(settings(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(settings(p), []byte(usersSettings), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	apply := []string{"apply", "--scope", "project", "--yes", "--trust"}
	prepare(whole)
	whole.must(t, apply...)
	for _, entries := range []int{4, 12, 20, 30, 45} {
		t.Run(fmt.Sprintf("after %d entries", entries), func(t *testing.T) {
			p := newPerson(t)
			prepare(p)
			old := tree(t, p.project())
			cmd := p.aisync(apply...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for end := deadline(t); len(filesOf(p.project())) < entries && time.Now().Before(end); {
				if done, _ := os.ReadFile(filepath.Join(p.project(), stack.LockName)); done != nil {
					break // it was quicker: all that follows must hold all the same
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Log(err)
			}
			_ = cmd.Wait()

			for _, rel := range filesOf(p.project()) {
				is, err := os.ReadFile(filepath.Join(p.project(), rel))
				if err != nil {
					t.Fatal(err)
				}
				made, _ := os.ReadFile(filepath.Join(whole.project(), rel))
				if _, there := old[rel]; strings.Contains(rel, ".aisync-") || rel == stack.LockName || bytes.Equal(is, made) || there && string(is) == usersSettings {
					continue
				}
				t.Errorf("%s holds neither the old nor the new bytes:\n%s", rel, is)
			}
			p.must(t, apply...)
			p.must(t, "drift")
			for _, rel := range filesOf(p.project()) {
				if strings.Contains(rel, ".aisync-") {
					t.Errorf("%s was left behind", rel)
				}
			}
			if is, _ := os.ReadFile(settings(p)); !bytes.Contains(is, []byte("\"model\" :  \"opus\"")) {
				t.Errorf("the user's key did not keep its bytes:\n%s", is)
			}
			for _, rel := range filesOf(whole.project()) {
				is, _ := os.ReadFile(filepath.Join(p.project(), rel))
				want, _ := os.ReadFile(filepath.Join(whole.project(), rel))
				if !bytes.Equal(is, want) {
					t.Errorf("%s is not what an apply that was not killed makes:\n%s", rel, lineDiff(string(want), string(is)))
				}
			}
		})
	}
}

// lineDiff is what a holds and b does not, and the other way round.
func lineDiff(a, b string) string {
	var out strings.Builder
	for line := range strings.Lines(a) {
		if !strings.Contains(b, line) {
			out.WriteString("- " + line)
		}
	}
	for line := range strings.Lines(b) {
		if !strings.Contains(a, line) {
			out.WriteString("+ " + line)
		}
	}
	return out.String()
}

func deadline(t *testing.T) time.Time {
	d, ok := t.Deadline()
	if !ok {
		return time.Now().Add(time.Minute)
	}
	return d.Add(-time.Second)
}

// filesOf lists the regular files of a folder that may be changing, without
// those of git.
func filesOf(dir string) []string {
	var out []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone meanwhile
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return nil
	})
	return out
}
