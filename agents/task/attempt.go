package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/task/policy"
	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// attempt is one run of one task.
type attempt struct {
	Runner
	readiness
	item    Item
	task    spec.Task
	limits  policy.Limits
	dir     string // tasks/runs/<id>
	journal journal
	log     *runLog
	report  *Report
	tree    *worktree.Tree
	box     sandbox.Box
	named   []string // files that steps name, even if git ignores them
	last    worktree.Staged
}

// failure is why a task failed.
type failure struct {
	kind string
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(kind string, err error) error { return &failure{kind, err} }

// errTimeout reports a step or a command that exceeded its task's limit.
var errTimeout = errors.New("timeout")

// carryOut does one attempt of a claimed task, whose worker has marker, after an
// earlier number that failed. Without a report it was given up undecided.
func (r Runner) carryOut(ctx context.Context, p readiness, i Item, marker string, failed int) (*Report, error) {
	a := &attempt{Runner: r, readiness: p, item: i, task: i.Task, dir: r.Queue.Runs(i.Task.ID), report: newReport(i, p, r.now())}
	if err := a.begin(marker, failed); err != nil {
		return nil, err
	}
	defer a.log.close()
	a.note("task %s of queue %s, off %s (%s), sandbox: %s", a.task.ID, i.Project, p.base, p.commit, a.report.Sandbox)
	r.say("%s: begun, off %s", a.task.ID, p.base)
	over := r.watched(a.task)
	err := a.work(ctx)
	after := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		err = a.interrupted(after, context.Cause(ctx))
		over(nil)
		return nil, err
	}
	err = a.end(after, err)
	over(a.report)
	return a.report, err
}

// begin creates the folder of the run and its journal.
func (a *attempt) begin(marker string, failed int) error {
	was, err := readJournal(a.dir)
	if err != nil {
		return err
	}
	a.journal = journal{By: a.Queue.Self, Attempt: marker, Crashes: failed}
	if was.Report == nil { // a run that continues after a crash
		a.journal.Left = was.Left
	}
	a.report.Attempt, a.report.Left = failed+1, a.journal.Left
	if err := a.enter(stageClaimed); err != nil {
		return err
	}
	if err := archiveReport(a.dir); err != nil {
		return err
	}
	a.log, err = openLog(a.dir)
	return err
}

// enter records the stage that begins.
func (a *attempt) enter(stage string) error {
	a.journal.Stage = stage
	if err := a.journal.write(a.dir); err != nil {
		return err
	}
	a.reached(stage)
	return nil
}

func (a *attempt) note(format string, args ...any) {
	_, _ = fmt.Fprintf(a.log, "%s %s\n", a.now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// work carries out the task, up to the push of its branch.
func (a *attempt) work(ctx context.Context) error {
	var err error
	if a.limits, err = policy.Of(a.task); err != nil {
		return fail("violation", err)
	}
	if err := commands(a.limits, a.task); err != nil {
		return fail("violation", err)
	}
	if a.way != sandbox.None {
		if a.repo, err = a.repo.Settled(ctx); err != nil {
			return fail("git", err)
		}
	}
	branch, dir := a.free(ctx, a.readiness, a.task.ID)
	a.journal.Tree, a.journal.Branch = dir, branch
	if err := a.enter(stageTree); err != nil {
		return fail("git", err)
	}
	if a.tree, err = a.repo.Add(ctx, dir, branch, a.commit); err != nil {
		return fail("git", err)
	}
	a.report.Branch = branch
	if err := a.prepareBox(ctx, dir); err != nil {
		return fail("sandbox", err)
	}
	defer os.RemoveAll(a.box.Scratch)
	if err := a.verifyBefore(ctx); err != nil {
		return err
	}
	for _, s := range a.task.Steps {
		if err := a.enter("step " + s.ID); err != nil {
			return fail("git", err)
		}
		if err := a.step(ctx, s); err != nil {
			return err
		}
	}
	if err := a.enter(stageVerify); err != nil {
		return fail("git", err)
	}
	if err := a.verify(ctx); err != nil {
		return err
	}
	if err := a.enter(stageCommit); err != nil {
		return fail("git", err)
	}
	if err := a.committing(ctx); err != nil {
		return err
	}
	if a.Push == "" || a.report.CommitHash == "" {
		return nil
	}
	if err := a.enter(stagePush); err != nil {
		return fail("git", err)
	}
	return a.pushing(ctx)
}

// scratch is the suffix of a task's scratch folder, after its work tree.
const scratch = confine.Scratch

// prepareBox sets up the sandbox of the task's commands. It hides the person's work
// tree and the work trees of other tasks.
func (a *attempt) prepareBox(ctx context.Context, dir string) (err error) {
	a.box, err = confine.Tree(ctx, a.repo, dir, sandbox.Box{Way: a.way, Home: a.Home, Network: a.task.Network && a.Network.Allowed, Show: a.Show, Hide: []string{a.repo.Dir, a.trees}})
	return err
}

// step does one step, retries it where that may help and is allowed, and judges
// the result.
func (a *attempt) step(ctx context.Context, s spec.TaskStep) error {
	a.report.Steps = append(a.report.Steps, StepResult{ID: s.ID, Action: s.Action, File: s.File})
	r := &a.report.Steps[len(a.report.Steps)-1]
	began := time.Now()
	defer func() { r.Seconds = time.Since(began).Seconds() }()
	if s.File != "" {
		a.named = append(a.named, s.File)
	}
	if err := a.tree.Mark(ctx); err != nil {
		return fail("git", err)
	}
	for {
		a.note("step %s: %s %s%s", s.ID, s.Action, s.File, s.Command)
		a.say("%s: step %s: %s %s", a.task.ID, s.ID, s.Action, termtext.OneLine(s.File+s.Command))
		err := a.try(ctx, s, r)
		if broken := a.enforce(ctx); broken != nil { // a violation outranks the failure of the step
			err = errors.Join(broken, err)
		}
		if err == nil {
			r.Done = true
			return nil
		}
		a.note("step %s: %v", s.ID, err)
		r.Failed = append(r.Failed, err.Error())
		if ctx.Err() != nil || !transient(err) || len(r.Failed) > a.task.Retries {
			return fail(kindOf(err, s), fmt.Errorf("step %s: %w", s.ID, err))
		}
		if err := a.tree.Reset(ctx); err != nil {
			return fail("git", err)
		}
	}
}

func kindOf(err error, s spec.TaskStep) string {
	var v *policy.Violation
	var f *failure
	switch {
	case errors.As(err, &v):
		return "violation"
	case errors.As(err, &f):
		return f.kind
	case errors.Is(err, errTimeout):
		return "timeout"
	case s.Action == "edit":
		return "executor"
	}
	return "step"
}

// transient reports whether a step may be tried again: never one that broke a
// limit, whatever else failed.
func transient(err error) bool {
	var v *policy.Violation
	return !errors.As(err, &v) && (errors.Is(err, errTimeout) || errors.Is(err, ErrTransient))
}

// try does a step once.
func (a *attempt) try(ctx context.Context, s spec.TaskStep, r *StepResult) error {
	switch s.Action {
	case "create", "write", "append":
		return a.put(s)
	case "run":
		result, err := a.shell(ctx, s.Command)
		if err != nil {
			return err
		}
		r.Command = &result
		return commandError(result, a.task.Timeout)
	case "edit":
		return a.edit(ctx, s, r)
	}
	return fmt.Errorf("unknown action %s", s.Action)
}

func (a *attempt) put(s spec.TaskStep) error {
	if !a.limits.MayWrite(s.File) {
		return &policy.Violation{Path: s.File, Text: "no allowed_write_globs names it"}
	}
	if _, err := os.Lstat(filepath.Join(a.tree.Dir, filepath.FromSlash(s.File))); err == nil && s.Action == "create" {
		return fmt.Errorf("create %s: it exists already", s.File)
	}
	return a.tree.Write(s.File, s.Text, s.Action == "append")
}

func (a *attempt) shell(ctx context.Context, line string) (Result, error) {
	if err := a.limits.Command(line); err != nil {
		return Result{}, err
	}
	got, err := a.box.Run(ctx, sandbox.Command{Argv: sandbox.Shell(line), Log: a.log, Timeout: a.task.Timeout})
	if err != nil {
		return Result{}, fail("sandbox", err)
	}
	a.note("exit code %d after %s", got.Exit, got.Took.Round(time.Millisecond))
	return Result{line, got.Exit, got.Stdout, got.Stderr}, nil
}

// commandError returns the error of a command that failed.
func commandError(r Result, limit time.Duration) error {
	switch r.ExitCode {
	case 0:
		return nil
	case -1:
		return fmt.Errorf("%s: %w: more than %s", termtext.OneLine(r.Cmd), errTimeout, limit)
	}
	said := strings.TrimSpace(r.Stderr)
	if said == "" {
		said = strings.TrimSpace(r.Stdout)
	}
	if at := strings.LastIndexByte(said, '\n'); at >= 0 {
		said = said[at+1:]
	}
	return fmt.Errorf("%s: exit code %d: %s", termtext.OneLine(r.Cmd), r.ExitCode, said)
}

func (a *attempt) edit(ctx context.Context, s spec.TaskStep, r *StepResult) error {
	if a.Executor == nil {
		return ErrUnable
	}
	if s.File != "" && !a.limits.MayWrite(s.File) { // before asking an executor
		return &policy.Violation{Path: s.File, Text: "no allowed_write_globs names it"}
	}
	paths, err := a.tree.Paths()
	if err != nil {
		return err
	}
	w := Work{Dir: a.tree.Dir, Task: a.task, Step: s, Box: a.box, Log: a.log}
	for _, p := range paths {
		if p == s.File || a.limits.MayRead(p) { // the task's author named it
			w.Readable = append(w.Readable, p)
		}
	}
	if n := len(r.Failed); n > 0 {
		w.Earlier = r.Failed[n-1]
	}
	limit, stop := context.WithTimeout(ctx, a.task.Timeout)
	defer stop()
	out, err := a.Executor.Edit(limit, w)
	r.Executor, r.Summary, r.Tokens = out.Name, out.Summary, r.Tokens+out.Tokens
	a.report.Tokens += out.Tokens
	if err != nil && ctx.Err() == nil && (limit.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
		return fmt.Errorf("%s: %w: more than %s (%w)", out.Name, errTimeout, a.task.Timeout, err)
	}
	return err
}

func (a *attempt) committing(ctx context.Context) error {
	if err := a.enforce(ctx); err != nil {
		return fail("violation", err)
	}
	if len(a.last.Files) == 0 {
		return a.checkUnchanged()
	}
	goal := strings.TrimSpace(a.task.Goal)
	first, rest, _ := strings.Cut(goal, "\n")
	hash, err := a.tree.Commit(ctx, a.last, strings.TrimSpace(fmt.Sprintf("chiffon: %s - %s\n\n%s", a.task.ID, first, strings.TrimSpace(rest)))+"\n")
	if err != nil {
		return fail("git", err)
	}
	a.report.CommitHash = hash
	a.note("committed %s on %s", hash, a.report.Branch)
	return nil
}

func (a *attempt) pushing(ctx context.Context) error {
	var err error
	for range a.task.Retries + 1 {
		limit, stop := context.WithTimeout(ctx, 5*time.Minute)
		err = a.repo.Push(limit, a.Push, a.report.Branch)
		stop()
		if err == nil {
			a.report.Pushed = a.Push
			a.note("pushed to %s", a.Push)
			return nil
		}
		a.note("push: %v", err)
	}
	return fail("push", fmt.Errorf("committed on %s, but not pushed to %s: %w", a.report.Branch, a.Push, err))
}
