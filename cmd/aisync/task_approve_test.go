//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clonedRepo clones a repository whose queue q has one task, evil, which connects
// to a server on the loopback of this machine. reached counts the connections.
func clonedRepo(t *testing.T) (clone string, env []string, reached func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	met := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			met <- struct{}{}
			c.Close()
		}
	}()
	origin, env := taskRepo(t, 0, "")
	must(t, os.RemoveAll(filepath.Join(origin, "tasks")))
	must(t, os.MkdirAll(filepath.Join(origin, "tasks/queue/q"), 0o755))
	must(t, os.WriteFile(filepath.Join(origin, "tasks/queue/q/evil.yaml"), []byte(fmt.Sprintf(`version: "1"
metadata: {id: evil}
goal: Look around.
scope: {allowed_write_globs: [x]}
constraints: {network: true}
steps:
  - {id: one, action: run, command: "bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d' && echo x >x"}
verify: []
`, l.Addr().(*net.TCPAddr).Port)), 0o644))
	clone = filepath.Join(filepath.Dir(origin), "clone")
	for _, args := range [][]string{{"add", "."}, {"commit", "-qm", "a queue"}, {"clone", "-q", origin, clone}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = origin, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return clone, env, func() int { return len(met) }
}

// A clone brings a queue: nothing of it runs, by hand or at night, before the
// person of this machine has approved it, and no task has the network before the
// host's spec allows that as well.
func TestClonedQueueRunsNothingUnasked(t *testing.T) {
	clone, env, reached := clonedRepo(t)
	home := filepath.Join(filepath.Dir(clone), "home")
	host := func(more string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Join(home, ".config/aisync"), 0o755))
		must(t, os.WriteFile(filepath.Join(home, ".config/aisync/host.cue"), []byte("package aisync\n\nhosts: me: tasks: {"+more+"}\n"), 0o644))
	}
	run := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("aisync", args...)
		cmd.Dir, cmd.Env = clone, env
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%v: exit code %d, want %d\n%s", args, got, want, out)
		}
		return string(out)
	}
	says := func(out string, all ...string) {
		t.Helper()
		for _, s := range all {
			if !strings.Contains(out, s) {
				t.Errorf("%q is not in\n%s", s, out)
			}
		}
	}
	untouched := func() {
		t.Helper()
		if n := reached(); n > 0 {
			t.Errorf("the server was reached %d times", n)
		}
		if len(globbed(t, filepath.Join(clone, "tasks/queue/q/evil.yaml"))) != 1 || len(globbed(t, filepath.Join(clone, "tasks/queue/q/*"))) != 1 {
			t.Error("the queue was changed")
		}
		if globbed(t, filepath.Join(clone, "tasks/runs")) != nil {
			t.Error("a run was begun")
		}
	}

	says(run(4, "task", "run"), "not approved on this machine: evil", "aisync task approve evil")
	says(run(4, "task", "run-once"), "aisync task approve evil")
	says(run(4, "task", "next"), "aisync task approve evil")
	says(run(4, "task", "run-once", "--unsafe-no-sandbox"), "aisync task approve evil")
	says(run(0, "task", "list"), "aisync task approve evil")
	host(`nightly: "02:00", repos: ["` + clone + `"], network: true`)
	says(run(1, "task", "nightly"), "queue q: nothing was done", "evil", "aisync task approve --repo "+clone+" evil")
	untouched()

	// Approved, it is refused the network until the host's spec allows it.
	must(t, os.RemoveAll(filepath.Join(home, ".config")))
	says(run(1, "task", "approve", "--all"), "not a terminal", "--yes")
	says(run(0, "task", "approve", "--all", "--yes"), "Look around.", "/dev/tcp/127.0.0.1/", "network", "tasks/queue/q/evil.yaml")
	for _, info := range globbed(t, filepath.Join(home, ".local/state/aisync/records/*.json")) {
		if i, err := os.Stat(info); err != nil || i.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", info, i, err)
		}
	}
	says(run(1, "task", "run"), "tasks/queue/q/evil.yaml", "constraints: network", "tasks: network: true")
	host(`nightly: "02:00", repos: ["~/x"]`)
	says(run(1, "task", "run"), "tasks: network: true", ".config/aisync/host.cue:3:")
	untouched()

	host("network: true")
	says(run(0, "task", "run"), "1 done, 0 failed")
	if n := reached(); n != 1 {
		t.Errorf("the server was reached %d times", n)
	}
}

// An approval is of the bytes: it lasts over failures until the task is done, and
// ends with any change, whatever the file is called.
func TestApprovalIsOfContent(t *testing.T) {
	repo, env := taskRepo(t, 2, "true")
	run := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("aisync", args...)
		cmd.Dir, cmd.Env = repo, env
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%v: exit code %d, want %d\n%s", args, got, want, out)
		}
		return string(out)
	}
	first, second := filepath.Join(repo, "tasks/queue/core/task-000.yaml"), filepath.Join(repo, "tasks/queue/core/task-001.yaml")
	run(0, "task", "approve", "task-000")
	text, err := os.ReadFile(first)
	must(t, err)

	// One byte more, or the content of another file under the approved name.
	must(t, os.WriteFile(first, append(text, '\n'), 0o644))
	run(4, "task", "run")
	other := strings.ReplaceAll(string(text), "command: \"true\"", "command: \"echo other >made/000\"")
	must(t, os.WriteFile(first, []byte(other), 0o644))
	if out := run(4, "task", "run"); !strings.Contains(out, "task-000, task-001") {
		t.Error(out)
	}
	must(t, os.Remove(first))
	must(t, os.Symlink(second, first))
	run(4, "task", "run")
	must(t, os.Remove(first))

	// The approved bytes under another name are approved, and so are they in failed.
	must(t, os.MkdirAll(filepath.Join(repo, "tasks/queue/core/failed"), 0o755))
	must(t, os.WriteFile(filepath.Join(repo, "tasks/queue/core/failed/renamed.yaml"), text, 0o644))
	run(0, "task", "retry", "task-000")
	if out := run(4, "task", "run"); !strings.Contains(out, "1 done, 0 failed") || !strings.Contains(out, "not approved on this machine: task-001") {
		t.Error(out)
	}
	if out := run(0, "task", "run", "--trust"); !strings.Contains(out, "1 done, 0 failed") {
		t.Error(out)
	}
	// What is done has used its approval: the same bytes, put back, need another.
	done := filepath.Join(repo, "tasks/queue/core/done/task-001.yaml")
	must(t, os.Rename(done, second))
	if out := run(4, "task", "run"); !strings.Contains(out, "not approved on this machine: task-001") {
		t.Error(out)
	}
	run(0, "task", "approve", "task-001")
	run(0, "task", "run")
	must(t, os.Rename(done, second))
	run(0, "task", "approve", "task-001")

	// Approved in one project, the same bytes are not approved in another.
	again := filepath.Join(filepath.Dir(repo), "again")
	must(t, os.Rename(repo, again))
	repo = again
	run(4, "task", "run")
}

// At a terminal task run shows a task that is not approved, and asks. A no passes it over
// and changes nothing; the end of input is none; a yes is kept until the task is done.
func TestRunAsksAtTerminal(t *testing.T) {
	repo, env := taskRepo(t, 1, "echo what it runs >made/x")
	asked := func(answer string, want int, args ...string) string {
		t.Helper()
		outer, inner := terminal(t)
		cmd := exec.Command("aisync", args...)
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = repo, env, inner, inner, inner
		out := shown(t, outer, inner, func() {
			if _, err := outer.WriteString(answer); err != nil {
				t.Error(err)
			}
			_ = cmd.Run()
		})
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%v: exit code %d, want %d\n%s", args, got, want, out)
		}
		return out
	}
	out := asked("n\n", 4, "task", "run", "--quiet")
	for _, s := range []string{"task      task-000 (", "goal      Make file 0.", "writes    made/*", "network   none", "step      two: run echo what it runs >made/x", "Approve this task? [y/N]", "not approved on this machine: task-000"} {
		if !strings.Contains(out, s) {
			t.Errorf("%q is not in\n%s", s, out)
		}
	}
	asked("\x04", 1, "task", "run-once")
	asked("n\n", 1, "task", "approve", "task-000")
	asked("n\n", 1, "task", "approve", "--all")
	if len(globbed(t, filepath.Join(repo, "tasks/queue/core/task-000.yaml"))) != 1 {
		t.Error("the task is not in its queue")
	}
	asked("y\n", 0, "task", "run-once")
	must(t, os.Rename(filepath.Join(repo, "tasks/queue/core/done/task-000.yaml"), filepath.Join(repo, "tasks/queue/core/task-000.yaml")))
	if out := asked("n\n", 4, "task", "run"); !strings.Contains(out, "[y/N]") {
		t.Errorf("what was done is not asked about when it is put back\n%s", out)
	}
	asked("y\n", 0, "task", "approve", "task-000")
	if out := asked("", 0, "task", "run"); strings.Contains(out, "[y/N]") {
		t.Errorf("asked again\n%s", out)
	}
}
