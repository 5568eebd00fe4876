//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// taskRepo makes a repository with a queue, core, of n tasks, each of which
// creates a file of its own, and returns the environment for aisync in it.
func taskRepo(t *testing.T, n int, command string) (repo string, env []string) {
	t.Helper()
	dir := t.TempDir()
	repo = filepath.Join(dir, "repo")
	queue := filepath.Join(repo, "tasks", "queue", "core")
	for _, d := range []string{queue, filepath.Join(dir, "home")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		text := fmt.Sprintf(`version: "1"
metadata: {id: task-%03d}
goal: Make file %d.
scope: {allowed_write_globs: ["made/*"]}
constraints: {retries: 3}
steps:
  - {id: one, action: create, file: made/%03d, text: "%d\n"}
  - {id: two, action: run, command: %q}
verify: []
`, i, i, i, i, command)
		if err := os.WriteFile(filepath.Join(queue, fmt.Sprintf("task-%03d.yaml", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "GIT_CONFIG_NOSYSTEM=1", quickRaceExit,
		"GIT_AUTHOR_NAME=Pat", "GIT_AUTHOR_EMAIL=pat@example.org", "GIT_COMMITTER_NAME=Pat", "GIT_COMMITTER_EMAIL=pat@example.org")
	for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = repo, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return repo, env
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Ten processes of the program itself share a hundred tasks: each task has one
// branch with one commit.
func TestExecutorsRunEachTaskOnce(t *testing.T) {
	const tasks, executors = 100, 10
	repo, env := taskRepo(t, tasks, "echo ran >>made/log-$(ls made)")
	var wait sync.WaitGroup
	for range executors {
		wait.Go(func() {
			cmd := exec.Command("aisync", "task", "run", "--project", "core", "--quiet", "--trust")
			cmd.Dir, cmd.Env = repo, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wait.Wait()
	if n := len(globbed(t, filepath.Join(repo, "tasks/queue/core/done/*.yaml"))); n != tasks {
		t.Errorf("%d are done", n)
	}
	if left := globbed(t, filepath.Join(repo, "tasks/queue/core/*.yaml")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	cmd := exec.Command("git", "for-each-ref", "--format=%(refname:short)", "refs/heads/chiffon")
	cmd.Dir, cmd.Env = repo, env
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, branch := range strings.Fields(string(out)) {
		id := strings.Split(branch, "/")[1]
		if seen[id] {
			t.Errorf("%s was done twice", id)
		}
		seen[id] = true
	}
	if len(seen) != tasks {
		t.Errorf("%d branches", len(seen))
	}
	if trees := globbed(t, filepath.Join(filepath.Dir(repo), "home/.local/state/aisync/work-trees/*/*")); len(trees) > 0 {
		t.Errorf("work trees are left: %v", trees)
	}
}

// The program is killed in the middle of a step: what ran dies with it, the
// queue is whole, and the next one does the task.
func TestTaskOfKilledExecutorIsRecovered(t *testing.T) {
	repo, env := taskRepo(t, 1, "test -e made/000 && (setsid sh -c 'while :; do date +%N >made/beat; sleep 0.02; done' &) ; sleep 1; rm -f made/beat; echo x >made/x")
	cmd := exec.Command("aisync", "task", "run-once", "--project", "core", "--trust")
	cmd.Dir, cmd.Env = repo, env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	beat := filepath.Join(filepath.Dir(repo), "home/.local/state/aisync/work-trees/*/*/made/beat")
	for end := time.Now().Add(30 * time.Second); len(globbed(t, beat)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the step did not begin")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	time.Sleep(200 * time.Millisecond)
	file := globbed(t, beat)[0]
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Error("what the step started outlives the program")
	}
	again := exec.Command("aisync", "task", "run-once", "--project", "core")
	again.Dir, again.Env = repo, env
	out, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `died at stage "step two"; it will be tried again`) || !strings.Contains(string(out), "task-000: done on ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSignalReturnsTaskToQueue(t *testing.T) {
	repo, env := taskRepo(t, 1, "sleep 60")
	cmd := exec.Command("aisync", "task", "run", "--project", "core", "--trust")
	cmd.Dir, cmd.Env = repo, env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(filepath.Join(repo, "tasks/runs/task-000/run.log")); strings.Contains(string(text), "step two") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the step did not begin")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 143 {
		t.Errorf("ended with %v", err)
	}
	if len(globbed(t, filepath.Join(repo, "tasks/queue/core/task-000.yaml"))) != 1 {
		t.Error("the task is not in its queue")
	}
}
