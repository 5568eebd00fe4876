package task

import (
	"context"
	"errors"
	"fmt"
	"os"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/worktree"
)

// recover handles the tasks whose executors have died: it completes those with a
// decided result, returns the others to the queue, and fails those that have
// killed their executors too often.
func (r Runner) recover(ctx context.Context, repo worktree.Repo, project string) error {
	left, err := r.Queue.Abandoned(project, process.System())
	if err != nil {
		return err
	}
	for _, i := range left {
		dead := i.By
		i, err := r.Queue.Claim(i)
		if errors.Is(err, ErrTaken) {
			continue
		}
		if err == nil {
			err = r.afterDeath(ctx, repo, i, dead)
		}
		if err != nil { // the others are not to wait for it
			r.say("task %s, whose executor died: %v", i.Name(), err)
		}
	}
	return nil
}

func (r Runner) afterDeath(ctx context.Context, repo worktree.Repo, i Item, dead Claimant) error {
	dir := r.Queue.Runs(i.Task.ID)
	j, err := readJournal(dir)
	if err != nil {
		return err
	}
	if j.By != dead { // it died before it could write
		j = journal{Crashes: j.Crashes, Left: j.Left, Stage: stageClaimed}
	}
	j.By = r.Queue.Self // who goes on where this process dies as well
	if err := j.write(dir); err != nil {
		return err
	}
	if j.Tree != "" {
		_ = os.RemoveAll(j.Tree + scratch)
	}
	if j.Report != nil { // it was decided
		return r.complete(ctx, repo, i, j, dead)
	}
	j.Crashes++
	if j.Tree != "" {
		j.Left = append(j.Left, Leftover{Tree: j.Tree, Branch: j.Branch})
		j.Tree, j.Branch = "", ""
	}
	why := fmt.Sprintf("its executor (%s) died at stage %q", dead, j.Stage)
	if j.Crashes <= i.Task.Retries {
		if err := j.write(dir); err != nil {
			return err
		}
		r.say("%s: %s; it will be tried again", i.Task.ID, why)
		_, err := r.Queue.GiveBack(i)
		return err
	}
	now := r.now()
	report := newReport(i, readiness{}, now)
	report.Status, report.Kind, report.Reason = string(Failed), "crash", fmt.Sprintf("%s; crash %d of this task, which allows %d retries", why, j.Crashes, i.Task.Retries)
	report.Left, report.Finished, report.Attempt = j.Left, now, j.Crashes
	j.Report = report
	if err := j.write(dir); err != nil {
		return err
	}
	if err := report.write(dir); err != nil {
		return err
	}
	r.say("%s: failed: %s", i.Task.ID, report.Reason)
	_, err = r.Queue.Finish(i, Failed)
	return err
}

// bringToItsEnd does what is left to do for a task that was decided.
func (r Runner) complete(ctx context.Context, repo worktree.Repo, i Item, j journal, dead Claimant) error {
	if j.Tree != "" && j.Report.Kept == "" {
		if err := repo.Remove(ctx, j.Tree, j.Branch, j.Report.BaseCommit); err != nil {
			j.Report.Left = append(j.Report.Left, Leftover{Tree: j.Tree, Branch: j.Branch})
			j.Report.Notes = append(j.Report.Notes, err.Error())
		}
	}
	if err := j.Report.write(r.Queue.Runs(i.Task.ID)); err != nil {
		return err
	}
	_, err := r.Queue.Finish(i, State(j.Report.Status))
	r.say("%s: %s, though its executor (%s) died", i.Task.ID, j.Report.Status, dead)
	return err
}
