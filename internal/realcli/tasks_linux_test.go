package realcli

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every program that can be pointed at a server does a step of a task: in a
// sandbox whose one way out is the model, in a copy that holds what the task
// lets it read. Gemini CLI takes no server but its maker's, and the task stays
// where it is.
func TestProgramsDoTask(t *testing.T) {
	needWholeRun(t)
	for _, id := range everyone() {
		t.Run(id, func(t *testing.T) {
			p := lookUp(t, id)
			w := newWorld(t, scope{}, []string{id})
			w.write(w.project, "src/hello.txt", "hi\n")
			w.write(w.project, "secret.txt", mark("task", "secret")+"\n")
			w.write(w.project, "tasks/queue/core/greet.yaml", `version: "1"
metadata: {id: greet}
goal: Greet the world.
scope: {allowed_write_globs: ["src/*.txt"], allowed_read_globs: ["src/**"]}
constraints: {timeout_seconds: 120, retries: 0}
steps:
  - {id: words, action: edit, file: src/hello.txt, instructions: Write `+mark("task", "step")+`.}
verify: ["grep -qx world src/hello.txt"]
`)
			me := []string{"GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost"}
			w.run(w.project, me, "git", "add", "src", "secret.txt")
			w.run(w.project, me, "git", "commit", "-qm", "first")
			// Hidden from the program, which may look at the paths of a command
			// itself.
			look := base64.StdEncoding.EncodeToString([]byte("cat secret.txt '" + w.project + "/secret.txt' '" + w.home + "/.config/aisync/host.cue'"))
			c := p.shell("echo " + look + " | base64 -d | sh; echo world >src/hello.txt")
			w.call.Store(&c)
			w.model.Take()
			r := w.try(w.project, me, "aisync", "task", "run-once", "--project", "core", "--trust", "--executor", id)
			asked := w.model.Take()
			if id == "gemini" {
				if _, err := os.Stat(filepath.Join(w.project, "tasks/queue/core/greet.yaml")); r.code == 0 || err != nil || len(asked) > 0 || !strings.Contains(r.out, "accepts only its vendor's server") {
					t.Errorf("exit code %d, error %v, asked %d times:\n%s", r.code, err, len(asked), r.out)
				}
				return
			}
			log, err := os.ReadFile(filepath.Join(w.project, "tasks/runs/greet/run.log"))
			if r.code != 0 || err != nil {
				t.Fatalf("exit code %d, error %v:\n%s\n%s", r.code, err, r.out, log)
			}
			if got := w.run(w.project, nil, "sh", "-c", "git show $(cat tasks/runs/greet/branch-name.txt):src/hello.txt"); got.out != "world\n" {
				t.Errorf("the branch has %q", got.out)
			}
			all := ""
			for _, q := range asked {
				all += string(q.Body)
			}
			if !strings.Contains(all, mark("task", "step")) || strings.Contains(all, mark("task", "secret")) || strings.Contains(all, "package aisync") {
				t.Errorf("the model was told what is not for it, or not what to do:\n%s", all)
			}
			t.Logf("%.1f s, %d requests", r.took.Seconds(), len(asked))
		})
	}
}

// The prose of a flat task without edits is a step for a program, which sees
// the files that it may write.
func TestProgramDoesFlatTask(t *testing.T) {
	needWholeRun(t)
	p := lookUp(t, "opencode")
	w := newWorld(t, scope{}, []string{"opencode"})
	w.write(w.project, "src/hello.txt", "hi\n")
	w.write(w.project, "tasks/queue/core/task-42.yml", `id: task-42
goal: Greet the world.
edits: []
verify:
- cmd: grep -qx world src/hello.txt
steps:
- Write `+mark("task", "prose")+`.
acceptance_criteria: []
source: gitea:core:42
scope: {allowed_write_globs: ["src/*.txt"]}
constraints: {timeout_seconds: 120}
`)
	me := []string{"GIT_AUTHOR_NAME=me", "GIT_AUTHOR_EMAIL=me@localhost", "GIT_COMMITTER_NAME=me", "GIT_COMMITTER_EMAIL=me@localhost"}
	w.run(w.project, me, "git", "add", "src")
	w.run(w.project, me, "git", "commit", "-qm", "first")
	c := p.shell("grep -qx hi src/hello.txt && echo world >src/hello.txt")
	w.call.Store(&c)
	w.model.Take()
	r := w.try(w.project, me, "aisync", "task", "run-once", "--project", "core", "--trust", "--executor", "opencode")
	if got := w.run(w.project, nil, "sh", "-c", "git show $(cat tasks/runs/task-42/branch-name.txt):src/hello.txt"); r.code != 0 || got.out != "world\n" {
		t.Errorf("exit code %d, the branch has %q:\n%s", r.code, got.out, r.out)
	}
	all := ""
	for _, q := range w.model.Take() {
		all += string(q.Body)
	}
	if !strings.Contains(all, mark("task", "prose")) {
		t.Errorf("the model was not told what to do:\n%s", all)
	}
}
