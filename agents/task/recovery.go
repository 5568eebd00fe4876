package task

import (
	"context"
	"errors"
	"fmt"
	"os"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/agents/worktree"
)

// recover handles the tasks whose executors have died: it completes those with a
// decided result, returns the others to the queue, and fails those that have
// killed their executors too often.
func (r Runner) recover(ctx context.Context, p readiness, project string) error {
	left, err := r.Queue.Abandoned(project, process.System())
	if err != nil {
		return err
	}
	approved, err := r.Queue.approved()
	if err != nil {
		return err
	}
	for _, i := range left {
		if !approved(i.Digest) {
			continue // a clone may bring files with any name
		}
		dead := i.By
		i, err := r.Queue.Claim(i)
		if errors.Is(err, ErrTaken) {
			continue
		}
		if err == nil {
			r.reached(stageFound)
			err = r.afterDeath(ctx, p, i, dead)
		}
		if err != nil { // the others are not to wait for it
			r.say("task %s, whose executor died: %v", i.Name(), err)
		}
	}
	return nil
}

// afterDeath settles the task i, which this process has claimed, of the dead
// executor.
func (r Runner) afterDeath(ctx context.Context, p readiness, i Item, dead Claimant) error {
	dir := r.Queue.Runs(i.Task.ID)
	j, err := readJournal(dir)
	if err != nil {
		return err
	}
	log, err := r.events(i, false)
	if err != nil {
		return err
	}
	defer log.Close()
	last, err := lastAttempt(log, i.Task.ID)
	if err != nil {
		return err
	}
	switch {
	case last.lives: // the file was taken from it
		j = journal{Left: j.Left, Stage: stageClaimed, Attempt: worker.NewMarker()}
	case last.marker != "" && j.Attempt == last.marker:
	case last.open && (j.By != dead || j.Attempt != ""): // it died before it could write
		j = journal{Left: j.Left, Stage: stageClaimed, Attempt: last.marker}
	case j.By == dead && j.Attempt == "": // an earlier aisync
		j.Attempt = worker.NewMarker()
	case j.By != dead: // another program
		j = journal{Left: j.Left, Stage: stageClaimed, Attempt: worker.NewMarker()}
	}
	why := j.death(dead)
	j.By = r.Queue.Self // before the events change: this process may die as well
	if err := j.write(dir); err != nil {
		return err
	}
	r.reached(stageTaken)
	task, err := r.bury(ctx, log, i, last, j, dead)
	if err != nil {
		return err
	}
	r.reached(stageBuried)
	j.Crashes = task.Failures
	if j.Tree != "" && !p.holds(j.Tree) { // --work-trees was another, or the journal is not ours
		j.Left = append(j.Left, Leftover{Tree: j.Tree, Branch: j.Branch})
		if j.Report != nil {
			j.Report.Left = append(j.Report.Left, j.Left[len(j.Left)-1])
		}
		j.Tree, j.Branch = "", ""
	}
	if j.Tree != "" {
		_ = os.RemoveAll(j.Tree + scratch)
	}
	if j.Report != nil { // it was decided
		return r.complete(ctx, p.repo, log, i, j, dead)
	}
	if j.Tree != "" {
		j.Left = append(j.Left, Leftover{Tree: j.Tree, Branch: j.Branch})
		j.Tree, j.Branch = "", ""
	}
	if task.Status == run.TaskPending {
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
	return r.finish(log, i, report)
}

func (j journal) death(dead Claimant) string {
	return fmt.Sprintf("its executor (%s) died at stage %q", dead, j.Stage)
}

// last is the last attempt of a task in its events.
type last struct {
	marker string // of its worker; "" without an attempt
	folder string // of its worker
	lives  bool   // it holds its lease, and its process may be alive
	open   bool   // it holds its lease, and its process is gone
	began  bool   // it had the task's file
	ended  bool   // its process recorded an end
}

func lastAttempt(log *run.Run, id string) (last, error) {
	st, err := log.State()
	if err != nil {
		return last{}, err
	}
	t := st.Task(id)
	if t.Claim == nil {
		return last{}, nil
	}
	w := st.Worker(t.Claim.Worker)
	out := last{marker: w.Owner, folder: supervise.Folder(log, w.ID)}
	if !t.Held() {
		return out, nil
	}
	o, err := worker.Observe(process.System(), out.folder, w.Owner)
	if err != nil {
		return out, err
	}
	out.began, out.ended = o.Ticket != nil && o.Ticket.Void == "", o.Exit != nil
	out.open = o.Gone() && (out.began || o.Job != nil && o.Job.By.Presence(process.System()) == worker.Gone)
	out.lives = !out.open
	return out, nil
}

// bury records in the events how the attempt of a dead executor ended, unless they
// tell it, and returns the task after it. An executor without a lease was another
// program, or an earlier aisync.
func (r Runner) bury(ctx context.Context, log *run.Run, i Item, last last, j journal, dead Claimant) (run.Task, error) {
	var err error
	switch {
	case j.Attempt != last.marker:
		err = log.Change(func(c *run.Change) error { return foreign(c, i.Task.ID, dead, j) })
	case last.open && last.began && !last.ended:
		code, why := exitFailed, j.death(dead)
		if j.Report != nil && j.Report.OK() {
			code, why = 0, ""
		}
		err = worker.RecordEnd(last.folder, last.marker, code, why)
	}
	if err == nil {
		s := supervise.Supervisor{Run: log, Table: process.System(), Single: true, Plan: func(run.Task, *run.State) (supervise.Plan, error) { return supervise.Plan{}, supervise.ErrByHand }}
		_, err = s.Work(ctx)
	}
	if err != nil {
		return run.Task{}, err
	}
	st, err := log.State()
	if err != nil {
		return run.Task{}, err
	}
	return *st.Task(i.Task.ID), nil
}

// foreign records the attempt of an executor that had no lease.
func foreign(c *run.Change, id string, dead Claimant, j journal) error {
	if c.State.Over() {
		return nil
	}
	t := c.State.Task(id)
	if t.Held() { // its lease was taken, and the file was not renamed
		if err := c.Held(run.ClaimReleased, t.Claim.Token, 0, run.Reason{Reason: "another has its file"}); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("%s.%d.%d", dead.Host, dead.PID, len(c.State.Workers)+1)
	if err := c.Register(name, run.Registration{Task: id, Adapter: "command", Substrate: run.External, Owner: j.Attempt}); err != nil {
		return err
	}
	token, err := c.Claim(id, name, 0)
	if err != nil {
		return err
	}
	switch {
	case j.Report == nil:
		return c.Held(run.TaskFailed, token, 0, run.Reason{Reason: j.death(dead)})
	case !j.Report.OK():
		return c.Held(run.TaskFailed, token, 0, run.Reason{Reason: j.Report.why()})
	}
	return c.Held(run.TaskCompleted, token, 0, nil)
}

// complete does what is left to do for a task that was decided.
func (r Runner) complete(ctx context.Context, repo worktree.Repo, log *run.Run, i Item, j journal, dead Claimant) error {
	if j.Tree != "" && j.Report.Kept == "" {
		if err := repo.Remove(ctx, j.Tree, j.Branch, j.Report.BaseCommit); err != nil {
			j.Report.Left = append(j.Report.Left, Leftover{Tree: j.Tree, Branch: j.Branch})
			j.Report.Notes = append(j.Report.Notes, err.Error())
		}
	}
	if err := j.Report.write(r.Queue.Runs(i.Task.ID)); err != nil {
		return err
	}
	err := r.finish(log, i, j.Report)
	r.say("%s: %s, though its executor (%s) died", i.Task.ID, j.Report.Status, dead)
	return err
}
