package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
)

// A task of the queue is a run of one task: tasks/runs/<id>/events.jsonl records
// its attempts, by the rules of package run. The lease of an attempt is taken
// there first, and then the file is renamed; a file in running/ whose process has
// no lease was claimed by another program, or by an earlier aisync.

// events opens the run of a task; again begins another if it is over.
func (r Runner) events(i Item, again bool) (*run.Run, error) {
	store, err := run.OpenTasks(r.Queue.path(), clock.Now)
	if err != nil {
		return nil, err
	}
	return store.Task(i.Task.ID, cmp.Or(i.Task.Goal, i.Task.ID), i.Task.Retries+1, again)
}

// doing is a task in the hands of this process: the executor of a supervisor that
// makes one attempt.
type doing struct {
	Runner
	ctx    context.Context
	p      readiness
	next   Item
	log    *run.Run
	failed int // earlier attempts

	item   Item // the claimed file
	report *Report
	err    error
	wait   sync.WaitGroup
}

// Start implements supervise.Executor: it renames the file, and works.
func (d *doing) Start(folder string, j worker.Job, token string, ended func()) error {
	if d.item, d.err = d.Queue.Claim(d.next); d.err != nil {
		return d.err
	}
	var self *worker.Taken
	if d.item.Digest != d.next.Digest { // approved, but not what can looked at
		d.err = errChanged
	} else {
		self, d.err = worker.Take(folder, j.Marker)
	}
	if d.err != nil {
		if _, back := d.Queue.GiveBack(d.item); back != nil {
			d.err = errors.Join(fmt.Errorf("task %s: %w", d.item.Task.ID, d.err), back)
		}
		return d.err
	}
	d.wait.Go(func() {
		defer ended()
		d.report, d.err = d.carryOut(d.ctx, d.p, d.item, j.Marker, d.failed)
		code, why := 0, ""
		switch {
		case d.report == nil: // given up: no attempt
			code, why = exitGivenUp, sentence(d.err.Error())
			d.err = errors.Join(d.err, d.log.Release(token, why))
			_, back := d.Queue.GiveBack(d.item)
			d.err = errors.Join(d.err, back)
		case !d.report.OK():
			code, why = exitFailed, d.report.why()
		}
		d.err = errors.Join(d.err, self.End(code, why))
	})
	return nil
}

// Exit codes of the worker that is an attempt.
const (
	exitFailed  = 1
	exitGivenUp = 75 // EX_TEMPFAIL of sysexits(3)
)

// errChanged reports a file that was replaced by another approved one just before
// it was claimed.
var errChanged = errors.New("the task's file has changed")

// attempt makes one attempt of a queued task, and moves its file where it is
// decided. ErrTaken: another executor has it.
func (r Runner) attempt(ctx context.Context, p readiness, next Item) (*Report, error) {
	log, err := r.events(next, true)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	failed, err := r.settle(log, next.Task.ID)
	if err != nil {
		return nil, err
	}
	d := &doing{Runner: r, ctx: ctx, p: p, next: next, log: log, failed: failed}
	s := supervise.Supervisor{Run: log, Executor: d, Table: process.System(), Single: true, Plan: func(run.Task, *run.State) (supervise.Plan, error) {
		return supervise.Plan{Substrate: worker.Process, Command: []string{"aisync", "task", "run-once", next.Project}}, nil
	}}
	out, err := s.Work(ctx)
	d.wait.Wait()
	switch {
	case d.report == nil && d.err == nil && err == nil:
		return nil, fmt.Errorf("task %s: %w: %s", next.Task.ID, ErrTaken, out.Reason)
	case d.report == nil:
		return nil, cmp.Or(d.err, err)
	}
	return d.report, errors.Join(d.err, err, r.finish(log, d.item, d.report))
}

// finish ends the run of a decided task, and then moves its file.
func (r Runner) finish(log *run.Run, i Item, report *Report) error {
	status, state, why := run.RunCompleted, Done, ""
	if !report.OK() {
		status, state, why = run.RunFailed, Failed, report.why()
	}
	var no *run.Refusal
	err := log.Finish(status, why)
	switch {
	case errors.As(err, &no) && no.Rule == "run-is-over":
		err = nil
	case errors.As(err, &no): // another took its claim: the file is the proof of whose it was
		err = fmt.Errorf("task %s: its events do not tell its end: %w", report.TaskID, err)
	case err != nil:
		return fmt.Errorf("task %s: %w", report.TaskID, err)
	}
	return errors.Join(err, r.moveOver(i, state))
}

// settle frees a queued task of a claim whose process is gone: a person, or
// another program, has put its file back. It returns how many attempts failed.
// ErrTaken: the holder lives, or is a process of another machine, which is about
// to rename the file.
func (r Runner) settle(log *run.Run, id string) (failed int, err error) {
	err = log.Change(func(c *run.Change) error {
		t := c.State.Task(id)
		failed = t.Failures
		if !t.Held() {
			return nil
		}
		w := c.State.Worker(t.Claim.Worker)
		if elsewhere := c.Now.Elsewhere(t.Claim.Acquired); elsewhere && !t.Claim.Expired(c.Now) {
			return fmt.Errorf("task %s: %w: a process of another machine has its lease until %s", id, ErrTaken, t.Claim.Renewed.Time().Add(t.Claim.Lease).Format(time.RFC3339))
		} else if !elsewhere {
			o, err := worker.Observe(process.System(), supervise.Folder(log, w.ID), w.Owner)
			switch {
			case err != nil || o.Ticket == nil: // a supervisor judges a start
				return err
			case !o.Gone():
				return fmt.Errorf("task %s: %w: process %d has its lease", id, ErrTaken, o.Ticket.Keeper.PID)
			}
		}
		return c.Held(run.ClaimReleased, t.Claim.Token, 0, run.Reason{Reason: "its file was put back into the queue"})
	})
	return failed, err
}
