package realcli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/tmuxtest"
)

// me is the person who commits in a test.
var me = []string{"GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost", "IS_SANDBOX=1"}

// runWorld is a project with a first commit, whose programs of set are set up for
// the model, and a separate tmux server. It returns the variables of commands.
func runWorld(t *testing.T, set ...string) (*world, []string) {
	w := newWorld(t, scope{}, set)
	sockets := filepath.Join(w.home, "tmux")
	w.write(sockets, ".keep", "")
	env := append([]string{"TMUX_TMPDIR=" + sockets, "SHELL=/bin/sh"}, me...)
	if slices.Contains(set, "gemini") { // it has no local endpoint: its own API is what the fake model speaks
		env = append(env, "AISYNC_OFFLINE=", "GEMINI_API_KEY=x", "GEMINI_MODEL=gemini-2.5-flash", "GOOGLE_GEMINI_BASE_URL="+w.model.URL)
	}
	t.Cleanup(func() {
		if t.Failed() {
			cmd := exec.Command("tmux", "capture-pane", "-p")
			cmd.Env = w.environ(w.project, env)
			screen, _ := cmd.CombinedOutput()
			t.Logf("the window shows:\n%s", screen)
		}
		tmuxtest.End(t, tmuxtest.Default(sockets))
	})
	w.write(w.project, "src/hello.txt", "hi\n")
	w.run(w.project, env, "git", "add", "src")
	w.run(w.project, env, "git", "commit", "-qm", "first")
	w.run(w.project, env, "aisync", "apply", "--yes", "--trust")
	w.run(w.project, env, "aisync", "run", "init")
	w.write(w.project, ".ilchul/config.json", `{"schemaVersion": 1, "adapters": {"claudeCode": {"enabled": true}}}`)
	return w, env
}

// trusts answers the questions that programs ask a person once: the look, the
// mode without questions, and whether they trust the project.
func (w *world) trusts(id string) {
	switch id {
	case "codex":
		name := filepath.Join(w.home, ".codex/config.toml")
		text, err := os.ReadFile(name)
		if err != nil {
			w.t.Fatal(err)
		}
		w.write(w.home, ".codex/config.toml", string(text)+fmt.Sprintf("\n[projects.%q]\ntrust_level = \"trusted\"\n", w.project))
	case "gemini":
		w.write(w.home, ".gemini/trustedFolders.json", fmt.Sprintf(`{%q: "TRUST_FOLDER"}`, w.project))
	case "pi":
		w.write(w.home, ".pi/agent/trust.json", fmt.Sprintf(`{%q: true}`, w.project))
	case "copilot":
		w.write(w.home, ".copilot/config.json", fmt.Sprintf(`{"trustedFolders": [%q]}`, w.project))
	case "claude":
		w.write(w.home, ".claude.json", fmt.Sprintf(`{"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
			"customApiKeyResponses": {"approved": ["none"], "rejected": []}, "projects": {%q: {"hasTrustDialogAccepted": true}}}`, w.project))
	}
}

// processes are those that have the home of w, when those that are about to end
// have done so.
func (w *world) processes() (left []process.Process) {
	table := process.System()
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(100 * time.Millisecond) {
		left = nil
		pids, err := table.PIDs()
		if err != nil {
			w.t.Fatal(err)
		}
		for _, pid := range pids {
			if env, err := table.Env(pid); err == nil && env["HOME"] == w.home {
				if p, err := table.Read(pid); err == nil {
					left = append(left, p)
				}
			}
		}
		if len(left) == 0 {
			break
		}
	}
	return left
}

// end ends the processes that have the home of w: a program that was killed leaves
// its shells, and one whose window was closed writes for some time, so that its
// home cannot be removed.
func (w *world) end() {
	for range 5 {
		left := w.processes()
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	w.t.Errorf("processes cannot be ended: %v", w.processes())
}

// Every program does a task of a run in a separate work tree, without a terminal
// and in tmux: its work is committed and goes on to the next task, the person's
// tree stays as it was, and no process outlives the worker.
func TestProgramsWorkInRun(t *testing.T) {
	needWholeRun(t)
	for i, id := range []string{"codex", "opencode", "claude", "qwen", "gemini", "copilot", "pi"} {
		for j, substrate := range []string{"process", "tmux"} {
			if i%2 != j && !everyWay {
				continue // make night does both
			}
			t.Run(id+" in "+substrate, func(t *testing.T) {
				p := lookUp(t, id)
				w, env := runWorld(t, id)
				w.trusts(id)
				w.write(w.project, "graph.json", fmt.Sprintf(`{"schemaVersion": 1, "worktrees": true, "tasks": [
					{"id": "greet", "adapter": %q, "substrate": %q, "goal": "Write %s.", "env": {"IS_SANDBOX": "1"}},
					{"id": "check", "dependsOn": ["greet"], "command": ["grep", "-qx", "world", "src/hello.txt"]}]}`, id, substrate, mark("run", "task")))
				line := "echo world >src/hello.txt"
				if substrate == "tmux" {
					line += "; " + binary + " run worker done" // a shell of codex reads its profile, and so may not find it
				}
				c := p.shell(line)
				w.call.Store(&c)
				w.run(w.project, env, "aisync", "run", "start", "--goal", "greet", "--graph", "graph.json", "--id", "r1")
				w.model.Take()
				r := w.try(w.project, env, "aisync", "run", "supervise", "r1")
				if r.code != 0 {
					for _, n := range []string{"1", "2", "3"} {
						log, _ := os.ReadFile(filepath.Join(w.project, ".ilchul/runs/r1/logs/greet."+n+".log"))
						t.Logf("log of greet.%s:\n%.3000s", n, log)
					}
					t.Fatalf("exit code %d:\n%s", r.code, r.out)
				}
				if got := w.run(w.project, nil, "git", "show", "aisync/r1/greet.1:src/hello.txt"); got.out != "world\n" {
					t.Errorf("the branch has %q", got.out)
				}
				if got := w.run(w.project, nil, "git", "status", "--porcelain", "--untracked-files=no"); got.out != "" {
					t.Errorf("the person's tree has changed:\n%s", got.out)
				}
				asked := ""
				for _, q := range w.model.Take() {
					asked += string(q.Body)
				}
				if !strings.Contains(asked, mark("run", "task")) || !strings.Contains(asked, "commit") {
					t.Errorf("the request lacks the task, or the order to commit:\n%.2000s", asked)
				}
				if substrate == "tmux" {
					w.run(w.project, env, "aisync", "run", "worker", "let-go", "greet.1", "--run", "r1")
					w.run(w.project, env, "aisync", "run", "cleanup", "--safe", "r1")
				}
				if left := w.processes(); len(left) > 0 {
					t.Errorf("it left running: %+v", left)
				}
				t.Logf("%.1f s\n%s", r.took.Seconds(), r.out)
			})
		}
	}
}

// Without trust, codex in tmux would wait for an answer: the task is refused
// before the program starts, with the command that a person types.
func TestUntrustedProjectIsNotStarted(t *testing.T) {
	needPrograms(t)
	for _, id := range []string{"codex", "claude"} {
		t.Run(id, func(t *testing.T) {
			w, env := runWorld(t, id)
			w.write(w.project, "graph.json", fmt.Sprintf(`{"schemaVersion": 1, "worktrees": true, "tasks": [{"id": "greet", "adapter": %q, "substrate": "tmux", "goal": "Greet."}]}`, id))
			w.run(w.project, env, "aisync", "run", "start", "--goal", "greet", "--graph", "graph.json", "--id", "r1")
			r := w.try(w.project, env, "aisync", "run", "supervise", "r1")
			if r.code != 1 || !strings.Contains(r.out, "would ask in its window whether you trust this project, and task greet cannot answer; run: cd "+w.project+" && "+id) {
				t.Errorf("exit code %d:\n%s", r.code, r.out)
			}
		})
	}
}

// In the workspace codex shows its question in the window, some time after its
// prompt: the run ends with which question waits.
func TestQuestionIsReported(t *testing.T) {
	needWholeRun(t)
	w, env := runWorld(t, "codex")
	w.write(w.project, "graph.json", `{"schemaVersion": 1, "tasks": [{"id": "greet", "adapter": "codex", "substrate": "tmux", "goal": "Greet."}]}`)
	w.write(w.project, ".ilchul/config.json", `{"schemaVersion": 1, "runtime": {"readinessTimeoutSeconds": 40}}`)
	w.run(w.project, env, "aisync", "run", "start", "--goal", "greet", "--graph", "graph.json", "--id", "r1")
	r := w.try(w.project, env, "aisync", "run", "supervise", "r1")
	if r.code != 3 || !strings.Contains(r.out, `waiting for an answer to "Trust this folder?`) {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
}

// An agent that only talks has done nothing.
func TestTalkIsNoWork(t *testing.T) {
	needWholeRun(t)
	w, env := runWorld(t, "codex", "opencode")
	w.write(w.project, "graph.json", `{"schemaVersion": 1, "worktrees": true, "tasks": [
		{"id": "c", "adapter": "codex", "substrate": "process", "goal": "Greet."},
		{"id": "o", "adapter": "opencode", "substrate": "process", "goal": "Greet."},
		{"id": "a", "adapter": "codex", "substrate": "process", "goal": "Answer.", "evidence": ["output"]}]}`)
	w.run(w.project, env, "aisync", "run", "start", "--goal", "greet", "--graph", "graph.json", "--id", "r1", "--max-attempts", "1")
	r := w.try(w.project, env, "aisync", "run", "supervise", "r1")
	for _, id := range []string{"c", "o"} {
		if !strings.Contains(r.out, id+": failed: it wrote nothing and named no artifact") {
			t.Errorf("task %s:\n%s", id, r.out)
		}
	}
	if r.code != 1 || !strings.Contains(r.out, "a: done (worker a.1") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
}

// An agent that ai starts from another folder works in the project.
func TestLaunchedProgramWorksInProject(t *testing.T) {
	needWholeRun(t)
	w, env := runWorld(t, "opencode")
	p := lookUp(t, "opencode")
	c := p.shell("pwd >where; echo $PWD >>where")
	w.call.Store(&c)
	r := w.try(w.home, env, "aisync", "launch", "--runtime", "opencode", w.project) // no terminal shows the window
	for began := time.Now(); time.Since(began) < 3*time.Minute; time.Sleep(100 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(w.project, "where")); err == nil && strings.Count(string(text), "\n") == 2 {
			break
		}
	}
	t.Log(r.out)
	if got, err := os.ReadFile(filepath.Join(w.project, "where")); err != nil || string(got) != w.project+"\n"+w.project+"\n" {
		t.Errorf("it worked in %q, %v", got, err)
	}
}

// In the person's files an agent has the permissions that the person gave it. What
// it asks before it runs a command is reported, and nothing ran.
func TestPermissionQuestionIsReported(t *testing.T) {
	needWholeRun(t)
	for _, c := range []struct{ id, question string }{
		{"codex", "Would you like to run the following command?"},
		{"claude", "Auto mode can't check actions"},
		{"opencode", "Permission required"},
		{"qwen", "Allow execution of"},
		{"gemini", "Allow execution of"},
		{"copilot", "Do you want to"},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			p := lookUp(t, c.id)
			w, env := runWorld(t, c.id)
			w.trusts(c.id)
			call := p.shell("rm -rf ../asked && touch ran")
			w.call.Store(&call)
			w.write(w.project, "graph.json", fmt.Sprintf(`{"schemaVersion": 1, "tasks": [{"id": "greet", "adapter": %q, "substrate": "tmux", "goal": "Greet."}]}`, c.id))
			w.write(w.project, ".ilchul/config.json", `{"schemaVersion": 1, "runtime": {"readinessTimeoutSeconds": 20}, "adapters": {"claudeCode": {"enabled": true}}}`)
			w.run(w.project, env, "aisync", "run", "start", "--goal", "greet", "--graph", "graph.json", "--id", "r1")
			r := w.try(w.project, env, "aisync", "run", "supervise", "r1")
			if r.code != 3 || !strings.Contains(r.out, `waiting for an answer to "`+c.question) {
				t.Errorf("exit code %d:\n%s", r.code, r.out)
			}
			if _, err := os.Lstat(filepath.Join(w.project, "ran")); err == nil {
				t.Error("it ran the command unasked")
			}
		})
	}
}
