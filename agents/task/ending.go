package task

import (
	"context"
	"errors"
	"fmt"
)

// end decides what came of the task, writes it down, and moves the task on.
// Once it is decided, whoever goes on after a crash does not do it again.
func (a *attempt) end(ctx context.Context, err error) error {
	r := a.report
	r.Status = string(Done)
	if err != nil {
		r.Status, r.Kind, r.Reason = string(Failed), "git", err.Error()
		var f *failure
		if errors.As(err, &f) {
			r.Kind = f.kind
		}
	}
	r.Finished = a.now()
	a.keeping(ctx)
	var problem error
	if a.After != nil {
		if err := a.After(ctx, a.task, r); err != nil {
			problem = fmt.Errorf("task %s: %w", a.task.ID, err)
			r.Notes = append(r.Notes, err.Error())
		}
	}
	a.journal.Report = r
	if err := a.enter(stageDecided); err != nil {
		return errors.Join(problem, err)
	}
	a.note("%s %s", r.Status, r.Reason)
	if err := r.write(a.dir); err != nil {
		return errors.Join(problem, err)
	}
	if err := a.enter(stageReported); err != nil {
		return errors.Join(problem, err)
	}
	if a.tree != nil && r.Kept == "" {
		if err := a.tree.Remove(ctx); err != nil {
			problem = errors.Join(problem, fmt.Errorf("task %s: %w", a.task.ID, err))
		}
	}
	a.reached(stageRemoved)
	state := Done
	if !r.OK() {
		state = Failed
	}
	_, err = a.Queue.Finish(a.item, state)
	return errors.Join(problem, err)
}

// keeping decides whether the work tree is kept: where something is in it that
// is not committed. A branch without a commit goes with it.
func (a *attempt) keeping(ctx context.Context) {
	switch {
	case a.tree == nil:
		a.report.Branch = ""
		return
	case a.report.CommitHash != "":
		return
	}
	changes, err := a.tree.Changes(ctx)
	if err != nil || len(changes) > 0 {
		a.report.Kept = a.tree.Dir
		return
	}
	a.report.Branch = ""
}

// interrupted puts the task back into its queue. What was done of it is kept
// where it is, if it was anything.
func (a *attempt) interrupted(ctx context.Context, cause error) error {
	a.note("interrupted: %v", cause)
	a.keeping(ctx)
	if a.tree != nil && a.report.Kept == "" {
		cause = errors.Join(cause, a.tree.Remove(ctx))
	}
	if a.report.CommitHash != "" {
		a.journal.Left = append(a.journal.Left, Leftover{Branch: a.report.Branch})
	}
	if a.report.Kept != "" {
		a.journal.Left = append(a.journal.Left, Leftover{Tree: a.report.Kept, Branch: a.report.Branch})
		a.say("%s: interrupted; what was done of it is kept in %s", a.task.ID, a.report.Kept)
	}
	a.journal.Tree, a.journal.Branch = "", ""
	err := a.journal.write(a.dir)
	_, back := a.Queue.GiveBack(a.item)
	return errors.Join(cause, err, back)
}
