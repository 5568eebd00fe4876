package task

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/schema/spec"
)

// A task that may write is done if it changed something, or if verify went from
// failing to passing.
func TestUnchangedTaskIsNotDone(t *testing.T) {
	w := newWorld(t)
	create := []spec.TaskStep{{ID: "s1", Action: "create", File: "src/new.txt", Text: "new\n"}}
	edit := []spec.TaskStep{{ID: "s1", Action: "edit", File: "src/a.txt", Instructions: "add two"}}
	idle := editor(func(context.Context, Work) (Outcome, error) { return Outcome{Name: "idle"}, nil })
	const none = "## Verification\n\nNothing was verified."
	for _, c := range []struct {
		id           string
		task         spec.Task
		kind, reason string
		before       []Before
		md           string // part of report.md
	}{
		{id: "idle-executor", task: spec.Task{Steps: edit}, kind: "unchanged", reason: "changed nothing: the steps left nothing to commit, although the task may write src/**, and it has no verify command; "},
		{id: "idle-command", task: spec.Task{Steps: runs("true"), Verify: []string{"true", "test -e README.md"}}, kind: "unchanged", reason: "and verify passed before the steps too; ",
			before: []Before{{"true", 0}, {"test -e README.md", 0}}, md: "\nBefore the steps, it passed as well, so it does not show what the steps did.\n"},
		{id: "idle-failing", task: spec.Task{Steps: runs("true"), Verify: []string{"false"}}, kind: "verify", reason: "verify: false: exit code 1", before: []Before{{"false", 1}}},
		{id: "same-text", task: spec.Task{Steps: []spec.TaskStep{{ID: "s1", Action: "write", File: "src/a.txt", Text: "one\n"}}}, kind: "unchanged", reason: "type: aisync task retry same-text"},
		{id: "scratch", task: spec.Task{Steps: runs("echo x >src/n.log"), Verify: nil}, kind: "unchanged", reason: "left nothing to commit (git ignores 1 changed file)"},
		{id: "ignored", task: spec.Task{Steps: runs("echo x >src/n.log"), Verify: []string{"true", "test -e src/n.log", "true"}},
			before: []Before{{"true", 0}, {"test -e src/n.log", 1}}, md: "\nBefore the steps, `test -e src/n.log` failed (exit code 1).\n"},
		{id: "changed", task: spec.Task{Steps: create, Verify: []string{"test -e src/new.txt"}}, before: []Before{{"test -e src/new.txt", 1}}},
		{id: "unproved", task: spec.Task{Steps: create, Verify: []string{"true"}}, before: []Before{{"true", 0}}, md: "it passed as well"},
		{id: "no-verify", task: spec.Task{Steps: create}, md: "## Verification\n\nThe task has no verify command: check the changes yourself.\n"},
		{id: "checks", task: spec.Task{Write: []string{}, Steps: runs("cat README.md"), Verify: []string{"true"}}},
		{id: "checks-only-verify", task: spec.Task{Write: []string{}, Verify: []string{"true"}}, md: "## Steps\n\nNone: the task only checks.\n"},
		{id: "hangs-before", task: spec.Task{Timeout: time.Second, Steps: create, Verify: []string{"test -e src/new.txt || sleep 60"}}, before: []Before{{"test -e src/new.txt || sleep 60", -1}}, md: "failed (timeout)"},
		{id: "slow-before", task: spec.Task{Timeout: time.Second, Steps: runs("touch $HOME/x"), Verify: []string{"test -e $HOME/x || sleep 60"}}, kind: "unchanged", reason: "and verify was not finished before the steps; ", before: []Before{{"test -e $HOME/x || sleep 60", -1}}},
		// What verify writes before the steps is gone when they begin.
		{id: "litters", task: spec.Task{Steps: create, Verify: []string{`if test ! -e src/new.txt; then echo x >secret/b.txt; rm README.md; mkfifo src/p; echo x >src/n.log; touch $HOME/h /tmp/t; exit 3; fi
			test "$(cat secret/b.txt README.md)" = "$(printf 'mine\nread me')" && test ! -e src/p && test ! -e src/n.log && test ! -e $HOME/h && test ! -e /tmp/t`}},
			before: []Before{{"", 3}}},
	} {
		c.task.ID = c.id
		w.queued(c.task)
		r := w.once(func(r *Runner) { r.Executor = idle })
		state, title := Done, ": done\n"
		if c.kind != "" {
			state, title = Failed, ": failed\n"
		}
		if r.Kind != c.kind || !strings.Contains(r.Reason, c.reason) || !w.in(state, c.id) {
			t.Errorf("%s: %s %q, want %s %q", c.id, r.Kind, r.Reason, c.kind, c.reason)
		}
		if len(c.before) > 0 && c.before[0].Cmd == "" {
			c.before[0].Cmd = c.task.Verify[0]
		}
		if len(r.VerifyBefore) != len(c.before) {
			t.Errorf("%s: before %v, want %v", c.id, r.VerifyBefore, c.before)
			continue
		}
		for i, b := range c.before {
			if r.VerifyBefore[i] != b {
				t.Errorf("%s: before %v, want %v", c.id, r.VerifyBefore[i], b)
			}
		}
		md := w.read("repo/tasks/runs/" + c.id + "/report.md")
		if !strings.HasPrefix(md, "# "+c.id+title) || !strings.Contains(md, c.md) || r.OK() && (strings.Contains(md, none) || strings.Contains(md, "None was started")) {
			t.Errorf("%s: report:\n%s", c.id, md)
		}
	}
}

// A task whose file says too little stays in its queue, with the place and what
// to add; the others are carried out.
func TestLackingTaskIsNotBegun(t *testing.T) {
	w := newWorld(t)
	lack := &spec.TaskLack{Pos: spec.Position{File: "tasks/t1.yaml", Line: 3, Col: 1}, Text: "scope.allowed_write_globs: missing; list them"}
	w.queued(spec.Task{ID: "t1", Write: []string{}, Verify: []string{"true"}, Lack: lack})
	w.queued(spec.Task{ID: "t2", Steps: []spec.TaskStep{{ID: "s1", Action: "create", File: "src/new.txt", Text: "new\n"}}})
	reports, err := runnerAt(w.dir).Run(t.Context(), "core", 0, time.Time{})
	const want = "task t1: tasks/t1.yaml:3:1: scope.allowed_write_globs: missing; list them"
	if len(reports) != 1 || reports[0].TaskID != "t2" || !reports[0].OK() || !errors.Is(err, ErrUnable) || err.Error() != want || !w.in(Queued, "t1") {
		t.Errorf("%v, %v", reports, err)
	}
	if _, err := os.Stat(filepath.Join(w.repo, "tasks/runs/t1")); err == nil {
		t.Error("it has a report")
	}
	if _, _, err := runnerAt(w.dir).Look(t.Context(), "core"); err == nil || err.Error() != want {
		t.Errorf("dry run: %v", err)
	}
	if got := Foresee(spec.Task{Lack: lack}); len(got) != 1 || got[0].Error() != strings.TrimPrefix(want, "task t1: ") {
		t.Errorf("validate: %v", got)
	}
}

// A step of prose names no file; what it writes is judged when it is done.
func TestForeseeAllowsStepWithoutFile(t *testing.T) {
	if got := Foresee(spec.Task{Write: []string{"src/**"}, MaxFiles: 1, Steps: []spec.TaskStep{{ID: "edit-1", Action: "edit", Instructions: "x"}, {ID: "b", Action: "create", File: "src/b"}}}); len(got) != 0 {
		t.Error(got)
	}
}
