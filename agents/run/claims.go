package run

import (
	"errors"
	"fmt"
	"time"
)

// Claim gives a pending task to a worker that holds none, for a lease (0: the
// run's), and returns the token that every later event of that worker carries.
func (c *Change) Claim(task, worker string, lease time.Duration) (token string, err error) {
	token = c.token()
	lease, err = c.lease(lease)
	if err != nil {
		return "", err
	}
	if t := c.State.Task(task); t != nil {
		if other := c.State.Beside(t, c.dir); other != "" {
			return "", refuse("one-writer", "claim another task, or wait: aisync run status", "task %s writes what task %s writes, which is claimed", task, other)
		}
	}
	return token, c.Add(Event{Type: TaskClaimed, Task: task, Worker: worker, Token: token, Lease: lease})
}

func (c *Change) lease(lease time.Duration) (time.Duration, error) {
	if lease == 0 {
		return time.Duration(c.State.Settings().LeaseMS) * time.Millisecond, nil
	}
	lease = lease.Truncate(time.Millisecond)
	if lease <= 0 || lease > maxLease {
		return 0, fmt.Errorf("a lease of %s: want more than 0 and at most %s", lease, maxLease)
	}
	return lease, nil
}

// Held adds an event of the worker that holds token. It refuses a token that is
// not the current one of a task.
func (c *Change) Held(kind, token string, lease time.Duration, data any) error {
	t := c.State.Holder(token)
	if t == nil {
		return c.stale(token)
	}
	e := Event{Type: kind, Task: t.ID, Worker: t.Claim.Worker, Token: token, Lease: lease}
	if data == nil {
		return c.Add(e)
	}
	return c.add(e, data)
}

// stale returns the refusal of a stale token, with its former claim.
func (c *Change) stale(token string) error {
	for _, t := range c.State.Tasks {
		if t.Claim != nil && t.Claim.Token == token {
			return refuse("stale-token", "stop work on it; the work is not recorded", "the claim of task %s by worker %s has ended: %s", t.ID, t.Claim.Worker, t.Claim.Ended)
		}
	}
	return refuse("stale-token", "stop work on it; the work is not recorded", "no claim of run %s has this token now", c.id)
}

// Register adds a worker to the registry before it starts.
func (r *Run) Register(worker string, w Registration) error {
	return r.Change(func(c *Change) error { return c.Register(worker, w) })
}

// Register is Run.Register within a change.
func (c *Change) Register(worker string, w Registration) error {
	return c.add(Event{Type: WorkerRegistered, Worker: worker}, w)
}

// Claim makes a change of one Change.Claim.
func (r *Run) Claim(task, worker string, lease time.Duration) (token string, err error) {
	err = r.Change(func(c *Change) error {
		token, err = c.Claim(task, worker, lease)
		return err
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Started records the handle of a worker as observed at its start.
func (c *Change) Started(worker string, h Handle) error {
	return c.add(Event{Type: WorkerStarted, Worker: worker}, h)
}

// Ready records that the worker with token is ready for work.
func (r *Run) Ready(token string) error {
	return r.Change(func(c *Change) error { return c.Held(WorkerReady, token, 0, nil) })
}

// Renew is a heartbeat: it renews the claim for a lease, 0 for the run's. It
// also renews a claim whose lease is over but that is not freed yet.
func (r *Run) Renew(token string, lease time.Duration) error {
	return r.Change(func(c *Change) error {
		lease, err := c.lease(lease)
		if err != nil {
			return err
		}
		return c.Held(WorkerHeartbeat, token, lease, nil)
	})
}

// Release gives a task back undone.
func (r *Run) Release(token, why string) error {
	return r.Change(func(c *Change) error { return c.Held(ClaimReleased, token, 0, Reason{why}) })
}

// Complete completes the task of token. It returns a *Refusal if required
// evidence is missing.
func (r *Run) Complete(token string) error {
	return r.Change(func(c *Change) error { return c.Held(TaskCompleted, token, 0, nil) })
}

// Fail ends an attempt. The task may be tried again until it has failed as often
// as the run's settings allow.
func (r *Run) Fail(token, why string) error {
	return r.Change(func(c *Change) error { return c.Held(TaskFailed, token, 0, Reason{why}) })
}

// Expire frees and returns the tasks whose leases are over. It ends no worker:
// the worker's token is refused from then on.
func (r *Run) Expire() (freed []string, err error) {
	err = r.Change(func(c *Change) error {
		for _, t := range c.State.Overdue(c.Now) {
			freed = append(freed, t.ID)
			why := fmt.Sprintf("no heartbeat for %s, the lease was %s", c.Now.Since(t.Claim.Renewed).Round(time.Millisecond), t.Claim.Lease)
			if err := c.Held(ClaimExpired, t.Claim.Token, 0, Reason{why}); err != nil {
				return err
			}
		}
		return nil
	})
	return freed, err
}

// Move changes a worker's retention, as Transitions allow. From is optional.
func (r *Run) Move(worker string, m Move) error {
	return r.Change(func(c *Change) error { return c.Move(worker, m) })
}

// Move is Run.Move within a change.
func (c *Change) Move(worker string, m Move) error {
	if w := c.State.Worker(worker); w != nil && m.From == "" {
		m.From = w.Retention
	}
	return c.add(Event{Type: WorkerMoved, Worker: worker}, m)
}

// Note adds an event that changes nothing: RunNote, SupervisorJoined or
// SupervisorLeft.
func (r *Run) Note(kind string, data any) error {
	return r.Change(func(c *Change) error { return c.Note(kind, data) })
}

// Note is Run.Note within a change.
func (c *Change) Note(kind string, data any) error {
	if kind != RunNote && kind != SupervisorJoined && kind != SupervisorLeft {
		return errors.New("unknown type of note: " + kind)
	}
	return c.add(Event{Type: kind}, data)
}

// Finish ends the run, and clears the active pointer if it points here. It
// closes no worker.
func (r *Run) Finish(status, why string) error {
	err := r.Change(func(c *Change) error { return c.add(Event{Type: RunFinished}, Finished{status, why}) })
	if err != nil {
		return err
	}
	return r.store.deactivate(r.ID)
}
