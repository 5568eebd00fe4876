package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/schema/spec"
)

// dieAt runs one task in a separate process that is killed when it enters a
// stage.
func (w *world) dieAt(stage string) {
	w.Helper()
	cmd := exec.Command(os.Args[0], "die-at", stage, w.dir)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		w.Fatalf("at %s: %v\n%s", stage, err, out)
	}
}

// Wherever an executor is killed, the task is in one place of the queue, and
// is done in the end, once; what it left is said.
func TestTaskSurvivesKilledExecutor(t *testing.T) {
	done := proof.Start(t, 14)
	w := newWorld(t)
	stages := []string{stageClaimed, stageTree, stageBefore, "step s1", "step s2", stageVerify, stageCommit, stageDecided, stageReported, stageRemoved}
	for _, stage := range stages {
		id := "at-" + strings.ReplaceAll(stage, " ", "-")
		w.queued(spec.Task{ID: id, Retries: 1, Steps: []spec.TaskStep{
			{ID: "s1", Action: "create", File: "src/new.txt", Text: "new\n"},
			{ID: "s2", Action: "run", Command: "echo two >>src/a.txt"},
		}, Verify: []string{"test -e src/new.txt"}})
		w.dieAt(stage)
		if i, err := w.queue().Find(id); err != nil || i.State != Running {
			t.Fatalf("killed at %s: %v, %v", stage, i, err)
		}
		before := w.left()
		decided := slices.Contains([]string{stageDecided, stageReported, stageRemoved}, stage)
		r, err := runnerAt(w.dir).Once(t.Context(), "core")
		if decided && !errors.Is(err, ErrNone) || !decided && (err != nil || !r.OK()) {
			t.Errorf("killed at %s: %v, %+v", stage, err, r)
			continue
		}
		if i, err := w.queue().Find(id); err != nil || i.State != Done {
			t.Errorf("killed at %s: %v, %v", stage, i, err)
		}
		got, err := readReport(w.queue().Runs(id))
		if err != nil || !got.OK() || w.git("diff", "--name-only", "main", got.Branch) != "src/a.txt\nsrc/new.txt" {
			t.Errorf("killed at %s: %+v, %v", stage, got, err)
			continue
		}
		if early := stage == stageClaimed; !decided && (got.Attempt != 2 || len(got.Left) != map[bool]int{true: 0, false: 1}[early]) {
			t.Errorf("killed at %s: attempt %d, left %+v", stage, got.Attempt, got.Left)
		}
		for _, dir := range w.left() { // what is left is named in the report
			if slices.Contains(before, dir) && strings.Contains(dir, id) && !slices.ContainsFunc(got.Left, func(l Leftover) bool { return l.Tree == dir }) {
				t.Errorf("killed at %s: %s is left, and the report says %+v", stage, dir, got.Left)
			}
		}
	}
	done("kills", len(stages))
}

// Who recovers a task may be killed as well: a decided task is not done again, and
// another is not held for ever.
func TestTaskSurvivesKilledRecovery(t *testing.T) {
	done := proof.Start(t, 14)
	kills := 0
	for _, stage := range []string{"step s1", stageDecided} {
		for _, first := range []string{stageFound, stageTaken, stageBuried} {
			for _, second := range []string{"", stageFound, stageTaken, stageBuried} {
				w := newWorld(t)
				w.queued(spec.Task{Retries: 3, Steps: runs("echo x >src/x")})
				for _, at := range []string{stage, first, second} {
					if at != "" {
						w.dieAt(at)
						kills++
					}
				}
				name := fmt.Sprintf("killed at %s, then %s, then %q", stage, first, second)
				decided := stage == stageDecided
				r, err := runnerAt(w.dir).Once(t.Context(), "core")
				if decided && !errors.Is(err, ErrNone) || !decided && err != nil {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
				got, err := readReport(w.queue().Runs("t1"))
				if err != nil || !got.OK() || !w.in(Done, "t1") {
					t.Errorf("%s: %+v, %v, %v", name, got, err, w.items())
					continue
				}
				failed := map[bool]int{true: 0, false: 1}[decided]
				types, task := w.events("t1")
				if task.Status != run.TaskDone || task.Failures != failed || got.Attempt != failed+1 || types[len(types)-1] != run.RunFinished {
					t.Errorf("%s: attempt %d, %+v, %q", name, got.Attempt, task, types)
				}
			}
		}
	}
	done("kills", kills)
}

func (w *world) queue() Queue { return runnerAt(w.dir).Queue }

// A process that has been given the number of one that died is not it: the journal
// of an earlier aisync, which names no attempt, is not its.
func TestRecoveredReportKeepsExecutor(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Retries: 1, Steps: runs("echo x >src/x")})
	w.dieAt(stageDecided)
	i, err := w.queue().Find("t1")
	if err != nil {
		t.Fatal(err)
	}
	j, err := readJournal(w.queue().Runs("t1"))
	if err == nil {
		j.Attempt = ""
		err = j.write(w.queue().Runs("t1"))
	}
	if err != nil {
		t.Fatal(err)
	}
	i.By.Start++ // another took the task afterwards, and died before it could write
	if err := os.Rename(i.Path, filepath.Join(filepath.Dir(i.Path), claimName("t1.yaml", i.By))); err != nil {
		t.Fatal(err)
	}
	if r := w.once(); !r.OK() || r.Attempt != 2 {
		t.Errorf("%+v", r)
	}
}

func (w *world) items() []Item {
	w.Helper()
	q := runnerAt(w.dir).Queue
	all, err := q.List()
	if err != nil {
		w.Fatal(err)
	}
	return all
}

func TestTaskFailsAfterCrashes(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Write: []string{}, Retries: 1, Steps: runs("true")})
	w.dieAt("step s1")
	w.dieAt("step s1")
	_, err := runnerAt(w.dir).Once(t.Context(), "core")
	if !errors.Is(err, ErrNone) || !w.in(Failed, "t1") {
		t.Fatalf("%v, %v", err, w.items())
	}
	r, err := readReport(Queue{Dir: w.repo}.Runs("t1"))
	if err != nil || r.Kind != "crash" || !strings.Contains(r.Reason, `died at stage "step s1"`) || len(r.Left) != 2 || r.VerifyResults == nil {
		t.Errorf("%+v, %v", r, err)
	}
	// A person puts it back: it begins anew.
	q := runnerAt(w.dir).Queue
	i, err := q.Find("t1")
	if err == nil {
		_, err = q.GiveBack(i)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := w.once(); !r.OK() || r.Attempt != 1 {
		t.Errorf("%+v", r)
	}
	earlier, err := filepath.Glob(filepath.Join(w.repo, "tasks/runs/t1/20*/report.json"))
	if err != nil || len(earlier) != 1 {
		t.Errorf("earlier reports: %v, %v", earlier, err)
	}
}

// A violation that was found counts, though the executor died before it could
// say so.
func TestViolationIsNotRetriedAfterCrash(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Retries: 5, Steps: runs("echo x >secret/x")})
	w.dieAt(stageDecided)
	if _, err := runnerAt(w.dir).Once(t.Context(), "core"); !errors.Is(err, ErrNone) || !w.in(Failed, "t1") {
		t.Errorf("%v, %v", err, w.items())
	}
	if r, err := readReport(Queue{Dir: w.repo}.Runs("t1")); err != nil || r.Kind != "violation" || r.Kept == "" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPrepareErrorsMoveNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *world, r *Runner)
		want  string
	}{
		"bare": {func(w *world, r *Runner) { w.git("config", "core.bare", "true") }, "bare repository"},
		"unborn": {func(w *world, r *Runner) {
			w.git("update-ref", "-d", "refs/heads/main")
			_ = os.RemoveAll(filepath.Join(w.repo, ".git/logs"))
		}, "no commit yet"},
		"no such base":  {func(w *world, r *Runner) { r.Base = "nowhere" }, `base "nowhere"`},
		"an option":     {func(w *world, r *Runner) { r.Base = "--all" }, `base "--all"`},
		"no default":    {func(w *world, r *Runner) { w.git("branch", "-m", "main", "a"); w.git("branch", "b") }, "name one with --base"},
		"no identity":   {func(w *world, r *Runner) { w.write("home/.gitconfig", "") }, "git does not know who commits"},
		"no repository": {func(w *world, r *Runner) { _ = os.RemoveAll(filepath.Join(w.repo, ".git")) }, "not in a git repository"},
		"not its top": {func(w *world, r *Runner) {
			w.write("repo/sub/tasks/queue/core/t1.yaml", w.read("repo/tasks/queue/core/t1.yaml"))
			r.Queue.Dir = filepath.Join(w.repo, "sub")
		}, "not the top"},
		"no queue":               {func(w *world, r *Runner) { r.Queue.Dir = w.dir }, "queue directory not found"},
		"trees in the way":       {func(w *world, r *Runner) { r.Trees = filepath.Join(w.repo, "trees") }, "--work-trees"},
		"a branch in the way":    {func(w *world, r *Runner) { w.git("branch", "chiffon") }, "git branch -m chiffon NEW"},
		"a branch of its own id": {func(w *world, r *Runner) { w.git("branch", "chiffon/t1") }, "git branch -m chiffon/t1 NEW"},
		"no such remote":         {func(w *world, r *Runner) { r.Push = "nowhere" }, `no remote "nowhere"`},
		"git is missing":         {func(w *world, r *Runner) { w.Setenv("PATH", "/nonexistent") }, "git is not installed"},
		"a newer journal":        {func(w *world, r *Runner) { w.write("repo/tasks/runs/t1/state.json", `{"format_version": 9}`) }, "format_version 9, but this aisync supports only 1"},
		"an older journal":       {func(w *world, r *Runner) { w.write("repo/tasks/runs/t1/state.json", `{"stage": "tree"}`) }, "format_version 0, but"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.queued(spec.Task{Steps: runs("true")})
			r := runnerAt(w.dir)
			c.spoil(w, &r)
			report, err := r.Once(t.Context(), "core")
			if err == nil || report != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if !w.in(Queued, "t1") || len(w.left()) != 0 {
				t.Error("something was moved")
			}
		})
	}
}

func TestDetachedHeadAndSeparateTreesWork(t *testing.T) {
	w := newWorld(t)
	w.git("checkout", "-q", "--detach")
	w.write("repo/.git/info/exclude", "/trees/\n")
	w.queued(spec.Task{Steps: []spec.TaskStep{{ID: "s1", Action: "create", File: "src/x", Text: "x"}}})
	r := w.once(func(r *Runner) { r.Trees = filepath.Join(w.repo, "trees") })
	if !r.OK() || r.Base != "main" || w.git("status", "--porcelain") != "?? tasks/" {
		t.Errorf("%+v\n%s", r, w.git("status", "--porcelain"))
	}
}

func TestInterruptedTaskIsRequeued(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Steps: runs("echo x >src/x; sleep 60")})
	r := runnerAt(w.dir)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // once it has written something
		for ctx.Err() == nil {
			if found, _ := filepath.Glob(filepath.Join(w.dir, "trees", "*", "*", "src", "x")); len(found) > 0 {
				stop()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if report, err := r.Once(ctx, "core"); report != nil || err == nil || !w.in(Queued, "t1") {
		t.Errorf("%+v, %v", report, err)
	}
	if len(w.left()) != 1 {
		t.Errorf("left %v", w.left())
	}
	w.queued(spec.Task{Write: []string{}, Steps: runs("true")})
	if r := w.once(); !r.OK() || r.CommitHash != "" || r.Branch != "" || len(r.Left) != 1 || r.Attempt != 1 {
		t.Errorf("%+v", r)
	}
}

func TestBranchIsPushedOnRequest(t *testing.T) {
	w := newWorld(t)
	remote := filepath.Join(w.dir, "remote.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", remote).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	w.git("remote", "add", "there", remote)
	w.git("remote", "add", "gone", filepath.Join(w.dir, "gone.git"))
	step := []spec.TaskStep{{ID: "s1", Action: "create", File: "src/x", Text: "x"}}
	w.queued(spec.Task{Steps: step})
	var heard *Report
	r := w.once(func(r *Runner) {
		r.Push = "there"
		r.After = func(_ context.Context, _ spec.Task, r *Report) error {
			heard = r
			r.PullRequest = "https://example.org/1"
			return nil
		}
	})
	out, err := exec.Command("git", "-C", remote, "rev-parse", r.Branch).Output()
	if err != nil || strings.TrimSpace(string(out)) != r.CommitHash || r.Pushed != "there" || heard == nil || !strings.Contains(w.read("repo/tasks/runs/t1/report.md"), "https://example.org/1") {
		t.Errorf("%+v, %v", r, err)
	}
	w.queued(spec.Task{ID: "t2", Steps: step})
	if r := w.once(func(r *Runner) { r.Push = "gone" }); r.Kind != "push" || r.CommitHash == "" || w.git("rev-parse", r.Branch) != r.CommitHash || !w.in(Failed, "t2") {
		t.Errorf("%+v", r)
	}
	w.queued(spec.Task{ID: "t3", Steps: step})
	if r := w.once(); r.Pushed != "" {
		t.Errorf("pushed without a word: %+v", r)
	}
}

func TestRunContinuesAfterFailure(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		w.queued(spec.Task{ID: id, Priority: 1, Write: []string{}, Steps: runs(map[bool]string{true: "exit 3", false: "true"}[id == "b"])})
	}
	w.queued(spec.Task{ID: "after-b", Priority: 2, Requires: []string{"b"}, Steps: runs("true")})
	w.queued(spec.Task{ID: "words", Steps: []spec.TaskStep{{ID: "s1", Action: "edit", File: "src/a.txt", Instructions: "x"}}})
	r := runnerAt(w.dir)
	all, err := r.Run(t.Context(), "core", 3, time.Time{})
	if err != nil && !errors.Is(err, ErrUnable) || len(all) != 3 || all[1].OK() || !all[2].OK() {
		t.Fatalf("%v %+v", err, all)
	}
	if all, err := r.Run(t.Context(), "core", 0, time.Now().Add(-time.Second)); err != nil || len(all) != 0 {
		t.Errorf("after its time: %v, %v", all, err)
	}
	all, err = r.Run(t.Context(), "core", 0, time.Time{})
	if len(all) != 1 || all[0].TaskID != "d" || !errors.Is(err, ErrUnable) {
		t.Errorf("%v, %v", all, err)
	}
	if text := Summary(all); !strings.HasPrefix(text, "1 done, 0 failed\n") {
		t.Error(text)
	}
}

// readReport reads the report of a task's last run.
func readReport(dir string) (*Report, error) {
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, err
	}
	var r Report
	return &r, json.Unmarshal(text, &r)
}
