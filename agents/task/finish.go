package task

import (
	"context"
	"errors"
	"fmt"
)

// end decides the result of the task and records it. Once it is recorded, a
// restart after a crash does not decide again.
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
	a.decideKeep(ctx)
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
	return problem
}

// decideKeep decides whether to keep the work tree: where it has uncommitted
// content. A branch without a commit is removed with the tree.
func (a *attempt) decideKeep(ctx context.Context) {
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

// interrupted settles a task that is given up undecided. It keeps the work tree if
// it has content.
func (a *attempt) interrupted(ctx context.Context, cause error) error {
	a.note("interrupted: %v", cause)
	a.decideKeep(ctx)
	if a.tree != nil && a.report.Kept == "" {
		cause = errors.Join(cause, a.tree.Remove(ctx))
	}
	if a.report.CommitHash != "" {
		a.journal.Left = append(a.journal.Left, Leftover{Branch: a.report.Branch})
	}
	if a.report.Kept != "" {
		a.journal.Left = append(a.journal.Left, Leftover{Tree: a.report.Kept, Branch: a.report.Branch})
		a.say("%s: interrupted; its work is kept in %s", a.task.ID, a.report.Kept)
	}
	a.journal.Tree, a.journal.Branch = "", ""
	return errors.Join(cause, a.journal.write(a.dir))
}
