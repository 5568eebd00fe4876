package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// apply applies e to s, or returns which rule forbids e and leaves s unchanged.
// Every decision is made here: an event is applied before it is appended, and
// judged again in a replay. It depends only on s and e.
func (s *State) apply(e Event) error {
	if err := s.judge(e); err != nil {
		return err
	}
	s.Updated = e.At
	return nil
}

func (s *State) judge(e Event) error {
	switch {
	case e.Type == RunCreated:
		return s.create(e)
	case s.Contract.RunID == "":
		return refuse("created-first", "", "the first event is %s, not %s", RunCreated, e.Type)
	}
	switch e.Type {
	case WorkerHeartbeat:
		return s.holding(e, func(_ *Task, w *Worker, c *Claim) error {
			if e.Lease <= 0 {
				return refuse("bounded-lease", "", "a heartbeat needs a lease")
			}
			c.Renewed, c.Lease = e.At, e.Lease
			return w.beat(e)
		})
	case WorkerReady:
		return s.holding(e, func(_ *Task, w *Worker, _ *Claim) error {
			w.Ready, w.Heartbeat = e.At, e.At
			return nil
		})
	case TaskClaimed:
		return s.claim(e)
	case ClaimReleased, ClaimExpired, TaskFailed, TaskCompleted:
		return s.holding(e, func(t *Task, w *Worker, c *Claim) error { return s.end(e, t, c) })
	case EvidenceAdded:
		return s.prove(e)
	case TaskAdded:
		return s.addTask(e)
	case WorkerRegistered:
		return s.register(e)
	case WorkerStarted:
		return s.started(e)
	case WorkerMoved:
		return s.moved(e)
	case RunFinished:
		return s.finish(e)
	case RunRecovered:
		s.Recovered++
		return nil
	case RunNote:
		s.note(e)
		return nil
	case SupervisorJoined, SupervisorLeft:
		return nil
	}
	return fmt.Errorf("unknown event type %q", e.Type)
}

// beat takes a heartbeat of the worker, or of a supervisor that has seen it.
func (w *Worker) beat(e Event) error {
	if len(e.Data) > 0 {
		var r Renewal
		if err := unpack(e, &r); err != nil {
			return err
		}
		if r.Output == w.Output {
			return nil
		}
		w.Output = r.Output
	}
	w.Heartbeat = e.At
	return nil
}

// note takes a note for supervisors. Any other object means nothing here.
func (s *State) note(e Event) {
	var n Note
	if json.Unmarshal(e.Data, &n) != nil || n.Reason == "" {
		return
	}
	if n.Cancel {
		s.Cancelling = n.Reason
	}
	if t := s.Task(n.Stop); t != nil {
		t.Stopped = n.Reason
	}
}

func (s *State) create(e Event) error {
	if s.Contract.RunID != "" {
		return refuse("created-once", "", "run %s was created already", s.ID)
	}
	var c Created
	if err := unpack(e, &c); err != nil {
		return err
	}
	switch {
	case c.Contract.RunID != s.ID:
		return refuse("own-run", "", "the event is of run %q, the file of run %q", c.Contract.RunID, s.ID)
	case c.Contract.Goal == "" || c.Contract.Status != RunActive:
		return refuse("created-active", "", "a run begins with a goal, and active")
	}
	s.Contract, s.Objective, s.Policy = c.Contract, c.Objective, c.Policy
	s.Evidence = map[string]int{}
	s.index()
	return nil
}

// holding runs do if e is from the worker that holds its task. Every event of a
// worker passes here.
func (s *State) holding(e Event, do func(*Task, *Worker, *Claim) error) error {
	t := s.Task(e.Task)
	if t == nil {
		return refuse("known-task", "run: aisync run show", "unknown task %q in run %s", e.Task, s.ID)
	}
	c := t.Claim
	if c == nil || c.Ended != "" || c.Token != e.Token {
		why := "the task is not held"
		if c != nil && c.Ended == "" {
			why = "worker " + c.Worker + " holds the task with another token"
		}
		return refuse("stale-token", "stop work on it; the work is not recorded", "%s of task %s: the token is not the current one: %s", e.Type, t.ID, why)
	}
	w := s.Worker(c.Worker)
	if e.Worker != c.Worker {
		return refuse("stale-token", "", "%s of task %s: the token is that of worker %s, not of %s", e.Type, t.ID, c.Worker, e.Worker)
	}
	return do(t, w, c)
}

func (s *State) claim(e Event) error {
	t, w := s.Task(e.Task), s.Worker(e.Worker)
	switch {
	case t == nil:
		return refuse("known-task", "run: aisync run show", "unknown task %q in run %s", e.Task, s.ID)
	case w == nil:
		return refuse("known-worker", "", "unknown worker %q in run %s", e.Worker, s.ID)
	case s.Over():
		return refuse("run-is-over", "", "run %s is %s", s.ID, s.Contract.Status)
	case t.Held():
		next := "wait until it ends, or until its lease is over"
		if t.Claim.Expired(e.At) {
			next = "its lease is over: run: aisync run claim --expire, or let the supervisor do it"
		}
		return refuse("one-claim-a-task", next, "task %s is held by worker %s", t.ID, t.Claim.Worker)
	case t.Status != TaskPending:
		return refuse("only-pending", "", "task %s is %s", t.ID, t.Status)
	case w.Retention != Active:
		return refuse("only-active-workers", "", "worker %s is %s", w.ID, w.Retention)
	case w.Task != "" && w.Task != t.ID:
		return refuse("own-task", "", "worker %s was registered for task %s", w.ID, w.Task)
	case e.Lease <= 0:
		return refuse("bounded-lease", "", "a claim needs a lease")
	case !strings.HasPrefix(e.Token, fmt.Sprintf("%d-", e.Seq)):
		return refuse("growing-tokens", "", "the token of a claim begins with the number of its event")
	}
	if waits := s.Waits(t); len(waits) > 0 {
		return refuse("dependencies-first", "", "task %s waits for %s", t.ID, strings.Join(waits, ", "))
	}
	for i := range s.Tasks {
		if o := &s.Tasks[i]; o.Held() && o.Claim.Worker == w.ID {
			return refuse("one-claim-a-worker", "", "worker %s holds task %s", w.ID, o.ID)
		}
	}
	t.Status, t.Attempts, t.Stopped = TaskHeld, t.Attempts+1, ""
	t.Claim = &Claim{Token: e.Token, Worker: w.ID, Acquired: e.At, Renewed: e.At, Lease: e.Lease}
	w.Heartbeat = e.At
	return nil
}

// end ends the claim of t by e.
func (s *State) end(e Event, t *Task, c *Claim) error {
	var r Reason
	if e.Type != TaskCompleted {
		if err := unpack(e, &r); err != nil {
			return err
		}
	}
	status := TaskPending
	switch e.Type {
	case TaskCompleted:
		if missing := s.Missing(t); len(missing) > 0 {
			return refuse("evidence-before-completion", "run: aisync run evidence add", "task %s lacks evidence: %s", t.ID, strings.Join(missing, ", "))
		}
		status, t.DoneBy = TaskDone, c.Worker
	case TaskFailed:
		if t.Failures++; t.Failures >= s.Settings().MaxAttempts {
			status = TaskLost
		}
	case ClaimExpired:
		if !c.Expired(e.At) {
			return refuse("lease-not-over", "", "the lease of task %s is not over", t.ID)
		}
	}
	t.Status, t.Reason = status, r.Reason
	c.Ended, c.EndedAt = e.Type, e.At
	return nil
}

func (s *State) prove(e Event) error {
	var ev Evidence
	if err := unpack(e, &ev); err != nil {
		return err
	}
	if err := ev.check(); err != nil {
		return err
	}
	count := func(in map[string]int) {
		for _, p := range ev.Proves() {
			in[p]++
		}
		s.Pieces++
	}
	if e.Task == "" {
		if s.Over() {
			return refuse("run-is-over", "", "run %s is %s", s.ID, s.Contract.Status)
		}
		count(s.Evidence)
		return nil
	}
	return s.holding(e, func(t *Task, _ *Worker, _ *Claim) error {
		if t.Proof == nil {
			t.Proof = map[string]int{}
		}
		count(t.Proof)
		return nil
	})
}

func (s *State) addTask(e Event) error {
	var t spec.RunTask
	if err := unpack(e, &t); err != nil {
		return err
	}
	switch {
	case s.Over():
		return refuse("run-is-over", "", "run %s is %s", s.ID, s.Contract.Status)
	case t.ID != e.Task:
		return refuse("own-task", "", "the event names task %q, its data %q", e.Task, t.ID)
	case t.Timeout() < 0 || t.Timeout() > maxLease:
		return refuse("bounded-timeout", "", "task %s has %d timeoutSeconds: want 1 to %.0f, or none", t.ID, t.TimeoutSeconds, maxLease.Seconds())
	case s.Task(t.ID) != nil:
		return refuse("added-once", "", "task %s exists already", t.ID)
	}
	for _, d := range t.DependsOn {
		if s.Task(d) == nil {
			return refuse("acyclic", "", "task %s depends on %q, which is not before it", t.ID, d)
		}
	}
	for _, want := range t.Evidence {
		if err := checkRequirement(want); err != nil {
			return err
		}
	}
	s.tasks[t.ID] = len(s.Tasks)
	s.Tasks = append(s.Tasks, Task{RunTask: t, Status: TaskPending})
	return nil
}

func (s *State) register(e Event) error {
	var r Registration
	if err := unpack(e, &r); err != nil {
		return err
	}
	switch {
	case s.Over():
		return refuse("run-is-over", "", "run %s is %s", s.ID, s.Contract.Status)
	case checkName(e.Worker) != nil:
		return checkName(e.Worker)
	case s.Worker(e.Worker) != nil:
		return refuse("registered-once", "use another id", "worker %s is registered already", e.Worker)
	case r.Task != "" && s.Task(r.Task) == nil:
		return refuse("known-task", "", "unknown task %q in run %s", r.Task, s.ID)
	case !slices.Contains([]string{Tmux, Process, External}, r.Substrate):
		return refuse("known-substrate", "", "unknown substrate %q: want tmux, process or external", r.Substrate)
	case r.Adapter == "":
		return refuse("known-adapter", "", "worker %s has no adapter", e.Worker)
	}
	if r.Substrate != External {
		n := 0
		for _, w := range s.Workers {
			if w.Retention == Active && w.Substrate != External {
				n++
			}
		}
		if n >= s.Settings().MaxWorkers {
			return refuse("max-workers", "", "run %s has %d of %d active workers", s.ID, n, s.Settings().MaxWorkers)
		}
	}
	s.workers[e.Worker] = len(s.Workers)
	s.Workers = append(s.Workers, Worker{ID: e.Worker, Registration: r, Retention: Active, Registered: e.At})
	return nil
}

func (s *State) started(e Event) error {
	var h Handle
	if err := unpack(e, &h); err != nil {
		return err
	}
	w := s.Worker(e.Worker)
	switch {
	case w == nil:
		return refuse("known-worker", "", "unknown worker %q in run %s", e.Worker, s.ID)
	case w.Handle != nil:
		return refuse("started-once", "", "worker %s was started already", w.ID)
	case w.Substrate == External:
		return refuse("external-is-not-ours", "", "worker %s was not started by aisync", w.ID)
	case w.Retention != Active:
		return refuse("only-active-workers", "", "worker %s is %s", w.ID, w.Retention)
	}
	w.Handle, w.Started = &h, e.At
	return nil
}

func (s *State) moved(e Event) error {
	var m Move
	if err := unpack(e, &m); err != nil {
		return err
	}
	w := s.Worker(e.Worker)
	if w == nil {
		return refuse("known-worker", "", "unknown worker %q in run %s", e.Worker, s.ID)
	}
	if err := s.move(w, m); err != nil {
		return err
	}
	w.Retention = m.To
	w.Moves = append(w.Moves, MoveAt{m, e.At})
	return nil
}

func (s *State) finish(e Event) error {
	var f Finished
	if err := unpack(e, &f); err != nil {
		return err
	}
	if s.Over() {
		return refuse("run-is-over", "", "run %s is %s already", s.ID, s.Contract.Status)
	}
	var held, open []string
	next := "their workers give them back with: aisync run release; when their leases are over: aisync run claim --expire --run " + s.ID
	for i := range s.Tasks {
		switch t := &s.Tasks[i]; {
		case t.Held():
			held = append(held, t.ID)
			if s.Worker(t.Claim.Worker).Substrate != External {
				next = "run: aisync run stop --all --run " + s.ID + ", which ends its workers and the run"
			}
		case t.Status != TaskDone:
			open = append(open, t.ID)
		}
	}
	if len(held) > 0 {
		return refuse("no-open-claims", next, "run %s has open claims, of %s", s.ID, strings.Join(held, ", "))
	}
	switch f.Status {
	case RunCompleted:
		if len(open) > 0 {
			return refuse("all-tasks-done", "", "run %s has tasks that are not completed: %s", s.ID, strings.Join(open, ", "))
		}
		for _, want := range s.Contract.EvidenceRequired {
			if s.Evidence[want] == 0 {
				return refuse("evidence-before-completion", "run: aisync run evidence add", "run %s lacks evidence: %s", s.ID, want)
			}
		}
	case RunFailed, RunCancelled:
		if f.Reason == "" {
			return refuse("reason", "", "a run that ends %s needs a reason", f.Status)
		}
	default:
		return errors.New("a run ends completed, failed or cancelled, not " + f.Status)
	}
	s.Contract.Status, s.Reason = f.Status, f.Reason
	return nil
}
