package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hookBench is a repository with a project, and a person who uses a program
// that installs git hooks.
type hookBench struct {
	*testing.T
	dir, home string
	env       []string
}

// newHookBench makes one, or skips where program is not installed.
func newHookBench(t *testing.T, program string) hookBench {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := hookBench{T: t, dir: filepath.Join(t.TempDir(), "a project"), home: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(b.home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(b.home, "bin", "aisync")); err != nil {
		t.Fatal(err)
	}
	b.env = []string{
		"PATH=" + filepath.Join(b.home, "bin") + ":" + os.Getenv("PATH"), "HOME=" + b.home, "GIT_CONFIG_NOSYSTEM=1", "AISYNC_IN_AUTOMATION=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org",
	}
	b.write("aisync.cue", "package aisync\n\nproject: {\n\tname: \"p\"\n\truntimes: [\"claude\"]\n\tbundles: [\"go\"]\n}\n")
	b.must("git init -q -b main")
	return b
}

func (b hookBench) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

// typed runs a line as a person types it.
func (b hookBench) typed(line string) (string, error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = b.dir, b.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b hookBench) must(line string) string {
	b.Helper()
	out, err := b.typed(line)
	if err != nil {
		b.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

const applyHere = "aisync apply --scope project --trust --yes"

// cure types what a plan's note says to run.
func (b hookBench) cure(plan string) {
	b.Helper()
	_, rest, ok := strings.Cut(plan, "run: ")
	if !ok {
		b.Fatalf("no cure is named:\n%s", plan)
	}
	line, _, _ := strings.Cut(rest, "\n")
	line = regexp.MustCompile(`, from aisync\.cue:.*`).ReplaceAllString(line, "")
	if strings.HasSuffix(line, "aisync apply --scope project") {
		line += " --trust --yes"
	}
	b.must(line)
}

// both wants a commit to run the program's hook, which leaves mark, and ours,
// which refuses a file that gofmt would write otherwise.
func (b hookBench) both(mark string) {
	b.Helper()
	_ = os.Remove(filepath.Join(b.dir, ".git", mark))
	b.must("git commit -q --allow-empty -m x")
	if mark != "" {
		if _, err := os.Stat(filepath.Join(b.dir, ".git", mark)); err != nil {
			b.Errorf("the program's hook did not run: %v", err)
		}
	}
	b.write("bad.go", "package a\nfunc   b( ) {}\n")
	out, err := b.typed("git add bad.go && git commit -q -m bad")
	if err == nil || !strings.Contains(out, "bad.go") {
		b.Errorf("the project's hook did not run: %v\n%s", err, out)
	}
	b.must("git rm -qf bad.go")
}

// gone wants the repository's configuration and hooks as before.
func (b hookBench) gone() {
	b.Helper()
	b.must("aisync destroy --scope project --yes")
	if out, err := b.typed("git config --local core.hooksPath"); err == nil {
		b.Errorf("core.hooksPath is left: %s", out)
	}
	if _, err := os.Lstat(filepath.Join(b.dir, ".aisync")); err == nil {
		b.Error(".aisync is left")
	}
}

const preCommitConfig = "repos:\n- repo: local\n  hooks:\n  - {id: mark, name: mark, language: system, entry: touch .git/pre-commit-ran, always_run: true, pass_filenames: false}\n"

func TestPreCommitAndAisyncHooksBothRun(t *testing.T) {
	t.Run("installed before", func(t *testing.T) {
		b := newHookBench(t, "pre-commit")
		b.write(".pre-commit-config.yaml", preCommitConfig)
		b.must("pre-commit install && git add -A")
		b.must(applyHere)
		b.both("pre-commit-ran")
		b.gone()
		b.must("git add -A && git commit -q --allow-empty -m y")
	})
	t.Run("installed after", func(t *testing.T) {
		b := newHookBench(t, "pre-commit")
		b.must(applyHere)
		b.write(".pre-commit-config.yaml", preCommitConfig)
		if out, err := b.typed("pre-commit install"); err == nil || !strings.Contains(out, "Cowardly") {
			t.Fatalf("pre-commit no longer refuses, and the cure is none: %v\n%s", err, out)
		}
		b.must("git add -A")
		plan, _ := b.typed("aisync plan --scope project")
		b.cure(plan)
		b.both("pre-commit-ran")
		b.gone()
	})
}

func TestGitLFSAndAisyncHooksBothRun(t *testing.T) {
	attributes := "*.bin filter=lfs diff=lfs merge=lfs -text\n"
	runs := func(b hookBench) {
		b.Helper()
		b.both("")
		b.write("large.bin", "large\n")
		b.must("git add -A && git commit -q -m large")
		far := filepath.Join(b.home, "far.git")
		b.must("git init -q --bare '" + far + "' && git push -q 'file://" + far + "' main")
		if _, err := os.Stat(filepath.Join(far, "lfs", "objects")); err != nil {
			b.Errorf("the pre-push hook of git-lfs sent nothing: %v", err)
		}
	}
	t.Run("installed before", func(t *testing.T) {
		b := newHookBench(t, "git-lfs")
		b.write(".gitattributes", attributes)
		b.must("git lfs install")
		b.must(applyHere)
		runs(b)
		b.gone()
	})
	t.Run("installed after", func(t *testing.T) {
		b := newHookBench(t, "git-lfs")
		b.must(applyHere)
		b.write(".gitattributes", attributes)
		b.must("git lfs install")
		if _, err := os.Stat(filepath.Join(b.dir, "githooks", "pre-push")); err != nil {
			t.Fatalf("git-lfs no longer writes into the project's folder: %v", err)
		}
		plan, _ := b.typed("aisync plan --scope project")
		b.cure(plan)
		if _, err := os.Stat(filepath.Join(b.dir, "githooks", "pre-push")); err == nil {
			t.Error("git-lfs's hook is left in the project's folder")
		}
		runs(b)
		b.gone()
	})
}

func TestHuskyKeepsHooksPath(t *testing.T) {
	install := func(b hookBench) {
		b.Helper()
		b.write("package.json", `{"name": "p", "private": true}`)
		if out, err := b.typed("npm install --silent --no-audit --no-fund husky@9.1.7"); err != nil {
			b.Skipf("husky cannot be had from npm: %v\n%s", err, out)
		}
		b.write(".gitignore", "node_modules\n")
		b.must("npx husky")
		b.write(".husky/pre-commit", "touch .git/husky-ran\n")
	}
	t.Run("installed before", func(t *testing.T) {
		b := newHookBench(t, "npm")
		install(b)
		out, err := b.typed(applyHere)
		if err == nil || !strings.Contains(out, "which husky set") {
			t.Fatalf("%v\n%s", err, out)
		}
		b.write("aisync.cue", "package aisync\n\nproject: {\n\tname: \"p\"\n\truntimes: [\"claude\"]\n\tbundles: [\"go\"]\n\tgithooks: false\n}\n")
		b.must(applyHere)
		b.must("git commit -q --allow-empty -m x && test -e .git/husky-ran")
	})
	t.Run("installed after", func(t *testing.T) {
		b := newHookBench(t, "npm")
		b.must(applyHere)
		install(b)
		out, _ := b.typed(applyHere)
		if !strings.Contains(out, "which husky set") || b.must("git config core.hooksPath") != ".husky/_\n" {
			t.Fatalf("what husky set is not left alone:\n%s", out)
		}
		b.must("git commit -q --allow-empty -m x && test -e .git/husky-ran")
	})
}
