package supervise

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
)

// Reasons to call a worker off. If its supervisor died before it ran, or its
// executor did nothing, that counts as no attempt.
const (
	orphaned = "its supervisor died before it ran"
	silent   = "it did not report in time"
	undone   = "nothing was done"
)

// observe updates the run to the observed state of its workers.
func (s *Supervisor) observe(c *run.Change) error {
	for i := range c.State.Workers {
		w := &c.State.Workers[i]
		t := heldBy(c.State, w.ID)
		switch {
		case w.Substrate == run.External:
			if err := s.expire(c, t); err != nil {
				return err
			}
		case t != nil || w.Retention == run.Active:
			if err := s.observeWorker(c, w, t); err != nil {
				return fmt.Errorf("worker %s: %w", w.ID, err)
			}
		}
	}
	return nil
}

// heldBy returns the task that a worker holds, or nil.
func heldBy(st *run.State, workerID string) *run.Task {
	for i := range st.Tasks {
		if t := &st.Tasks[i]; t.Held() && t.Claim.Worker == workerID {
			return t
		}
	}
	return nil
}

// expire frees a task of a worker that we cannot observe and that has not
// renewed its lease. An observable worker needs no lease.
func (s *Supervisor) expire(c *run.Change, t *run.Task) error {
	if t == nil || !t.Claim.Expired(c.Now) {
		return nil
	}
	since := c.Now.Since(t.Claim.Renewed).Round(time.Second)
	s.tell("%s: no heartbeat of %s for %s: the task is free again", t.ID, t.Claim.Worker, since)
	return c.Held(run.ClaimExpired, t.Claim.Token, 0, run.Reason{Reason: fmt.Sprintf("no heartbeat for %s, the lease was %s", since, t.Claim.Lease)})
}

// observeWorker settles one of our workers, which holds t or nothing.
func (s *Supervisor) observeWorker(c *run.Change, w *run.Worker, t *run.Task) error {
	folder := Folder(s.Run, w.ID)
	o, err := worker.Observe(s.Table, folder, w.Owner)
	if err != nil { // invalid files: its state is unknown, so do nothing
		s.warn("worker %s: %v", w.ID, err)
		return s.stale(c, w, "its files are invalid:  "+err.Error())
	}
	if o.Ticket != nil && o.Ticket.Keeper != nil && w.Handle == nil && w.Retention == run.Active {
		if err := s.started(c, w, o); err != nil {
			return err
		}
	}
	switch {
	case o.State == worker.Absent, o.State == worker.Waiting:
		return s.observeUnstarted(c, w, o, folder)
	case t == nil:
		return s.idle(c, w, o)
	}
	switch o.State {
	case worker.Void:
		return s.calledOff(c, w, t, o)
	case worker.Lost:
		if o.Job.Sandbox && w.Worktree != "" { // ended with the keeper, which removes its scratch folder otherwise
			_ = os.RemoveAll(w.Worktree + confine.Scratch)
		}
		return errors.Join(s.failAsked(c, w, t, o, o.String()), s.stale(c, w, o.String()))
	case worker.Ended:
		if o.Stop != nil {
			return s.endedAsAsked(c, w, t, o)
		}
		return s.collect(c, w, t, o)
	}
	return s.watch(c, w, t, o)
}

// observeUnstarted handles a worker without a ticket: it is called off when its starter
// is gone or its time is over. If its keeper is faster, it runs.
func (s *Supervisor) observeUnstarted(c *run.Change, w *run.Worker, o worker.Observation, folder string) error {
	why := ""
	if o.Stop != nil {
		why = o.Stop.Why
	} else if o.Job != nil && o.Job.By.Presence(s.Table) == worker.Gone {
		why = orphaned
	} else if c.Now.Since(w.Registered) > ms(c.State.Settings().ReadinessMS) {
		why = silent
	}
	if why == "" {
		return nil
	}
	s.news = true
	_, err := worker.CallOff(folder, w.ID, w.Owner, why)
	return err
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (s *Supervisor) started(c *run.Change, w *run.Worker, o worker.Observation) error {
	k := o.Ticket.Keeper
	h := run.Handle{PID: k.PID, Start: k.Start, Boot: k.Boot, Command: k.Args, Marker: o.Ticket.Marker}
	if p := o.Ticket.Pane; p != nil {
		h.Socket, h.Pane = p.Socket, p.ID
	}
	s.news = true
	return c.Started(w.ID, h)
}

// watch keeps the claim of a live worker: while it lives, no lease expires under
// it. A renewal is no heartbeat of the worker, see Silence.
func (s *Supervisor) watch(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	set := c.State.Settings()
	s.reportQuestion(w, t, o)
	switch {
	case o.Asks != nil && !o.AskedLate() && w.Ready.Wall != 0 && time.Since(o.Asks.At) > ms(set.ReadinessMS) && w.Retention == run.Active:
		s.tell("%s: worker %s is %s; answer in its window", t.ID, w.ID, o)
		if err := s.stale(c, w, o.String()); err != nil {
			return err
		}
	case w.Ready.Wall != 0:
	case o.Ready != nil:
		s.news = true
		if err := c.Held(run.WorkerReady, t.Claim.Token, 0, nil); err != nil {
			return err
		}
	case c.Now.Since(w.Registered) > ms(set.ReadinessMS) && w.Retention == run.Active:
		s.tell("%s: worker %s %s, but is not ready after %s; look at it", t.ID, w.ID, o, ms(set.ReadinessMS))
		if err := s.stale(c, w, fmt.Sprintf("%s, not ready after %s", o, ms(set.ReadinessMS))); err != nil {
			return err
		}
	}
	if err := s.reportSilence(c, w, t, o); err != nil {
		return err
	}
	if o.Stop != nil || t.Late(c.Now) > 0 {
		if err := s.end(c, w, t, o); err != nil {
			return err
		}
	}
	if c.Now.Since(t.Claim.Renewed) > min(ms(set.HeartbeatMS)/2, t.Claim.Lease/3) {
		return c.Held(run.WorkerHeartbeat, t.Claim.Token, ms(set.LeaseMS), run.Renewal{By: run.BySupervisor, Output: printed(s.Run, w.ID)})
	}
	return nil
}

// calledOff gives back the task of a worker that never ran.
func (s *Supervisor) calledOff(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	if o.Ticket.Void != orphaned && !strings.HasPrefix(o.Ticket.Void, undone) {
		if err := s.failAsked(c, w, t, o, o.String()); err != nil {
			return err
		}
	} else {
		s.tell("%s: free again: %s", t.ID, o)
		if err := c.Held(run.ClaimReleased, t.Claim.Token, 0, run.Reason{Reason: o.String()}); err != nil {
			return err
		}
	}
	return s.idle(c, w, o)
}

func (s *Supervisor) fail(c *run.Change, w *run.Worker, t *run.Task, why string) error {
	last := t.Failures+1 >= c.State.Settings().MaxAttempts
	if err := c.Held(run.TaskFailed, t.Claim.Token, 0, run.Reason{Reason: clip(why)}); err != nil {
		return err
	}
	if last {
		s.tell("%s: failed: %s (worker %s, which printed to %s)", t.ID, why, w.ID, logOf(s.Run, w.ID))
	} else {
		s.tell("%s: failed, will be tried again: %s (worker %s)", t.ID, why, w.ID)
	}
	return nil
}

// idle settles a worker of ours that holds no task.
func (s *Supervisor) idle(c *run.Change, w *run.Worker, o worker.Observation) error {
	if w.Retention != run.Active {
		return nil
	}
	s.news = true
	to, why := run.Retention(c.State.Settings().CompletedDefault), "its work is over"
	switch {
	case o.Stop != nil && o.State == worker.Ended:
		why = "it was ended: " + o.Stop.Why
	case o.State == worker.Void:
		to, why = run.SafeToClose, o.String()
	case o.State == worker.Lost:
		return s.stale(c, w, o.String())
	case o.State == worker.Running && !endedByReport(c.State, w):
		return s.stale(c, w, o.String()+", and holds no task")
	}
	return c.Move(w.ID, run.Move{To: to, By: run.BySupervisor, Reason: why})
}

// endedByReport reports whether the worker's task ended by a report of the worker or of
// us, and was not taken from it.
func endedByReport(st *run.State, w *run.Worker) bool {
	t := st.Task(w.Task)
	if t == nil || t.Claim == nil || t.Claim.Worker != w.ID {
		return false
	}
	return t.Claim.Ended == run.TaskCompleted || t.Claim.Ended == run.TaskFailed
}

// stale records that the observation of a worker contradicts its record. It is
// only a diagnosis: a person decides whether to close the worker.
func (s *Supervisor) stale(c *run.Change, w *run.Worker, seen string) error {
	if w.Retention != run.Active {
		return nil
	}
	s.news = true
	return c.Move(w.ID, run.Move{To: run.StaleRegistry, By: run.BySupervisor, Reason: "its observed state contradicts its registration", Observed: clip(seen)})
}
