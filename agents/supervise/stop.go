package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
)

// ending is a worker that this supervisor ends.
type ending struct {
	folder, marker string
	started        bool
	done           chan struct{}
	err            error // once done
}

// end ends a live worker that was asked to end, or whose time is over. Its
// request is written first: the next supervisor, if this one is killed, finds
// why the worker has ended.
func (s *Supervisor) end(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	e := s.ending[w.ID]
	if e == nil {
		if err := s.owned(w, o); err != nil {
			s.warn("%s: worker %s has to end, and cannot be ended: %v", t.ID, w.ID, err)
			return s.stale(c, w, fmt.Sprintf("%s; it has to end, and cannot be ended: %v", o, err))
		}
		folder := Folder(s.Run, w.ID)
		if o.Stop == nil {
			if err := worker.Ask(folder, w.Owner, fmt.Sprintf("not finished after %s", t.Timeout()), false); err != nil {
				return err
			}
		}
		s.ending[w.ID] = &ending{folder: folder, marker: w.Owner, done: make(chan struct{})}
		return nil
	}
	select {
	case <-e.done:
		if e.err != nil && s.stillRuns(e) { // o may be older
			s.warn("%s: worker %s was not ended: %v", t.ID, w.ID, e.err)
			return s.stale(c, w, fmt.Sprintf("%s; it has to end, and did not: %v", o, e.err))
		}
	default:
	}
	return nil
}

// endAsked begins to end the workers that have to, outside the run's lock:
// each has time to end by itself.
func (s *Supervisor) endAsked(ctx context.Context) {
	for _, e := range s.ending {
		if e.started {
			continue
		}
		e.started = true
		go func() {
			e.err = s.endNow(ctx, e)
			close(e.done)
			s.wake()
		}()
	}
}

func (s *Supervisor) awaitEndings() {
	for _, e := range s.ending {
		if e.started {
			<-e.done
		}
	}
}

// endedAsAsked records a worker that has ended because it was asked to. What it
// has left is no result, whatever its exit code.
func (s *Supervisor) endedAsAsked(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	if o.Keeper == worker.Here && o.Held { // it is about to exit
		s.news = true
		return nil
	}
	return errors.Join(s.failAsked(c, w, t, o, o.Stop.Why), s.idle(c, w, o))
}

// failAsked is fail for a worker that may have been asked to end: that is then
// why. After a person's request no supervisor starts the task again.
func (s *Supervisor) failAsked(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation, why string) error {
	switch {
	case o.Stop == nil:
		return s.fail(c, w, t, why)
	case !o.Stop.ByPerson:
		return s.fail(c, w, t, o.Stop.Why)
	}
	s.tell("%s: stopped: %s (worker %s)", t.ID, o.Stop.Why, w.ID)
	if err := c.Held(run.TaskFailed, t.Claim.Token, 0, run.Reason{Reason: clip("stopped: " + o.Stop.Why)}); err != nil {
		return err
	}
	return c.Note(run.RunNote, run.Note{Stop: t.ID, Reason: clip(o.Stop.Why)})
}

// Owned is worker.Owned, and checks that the events name the same process.
func Owned(t process.Table, o worker.Observation, w *run.Worker) error {
	if err := worker.Owned(t, o, w.Owner); err != nil {
		return err
	}
	if k := o.Ticket.Keeper; w.Handle == nil || w.Handle.PID != k.PID || w.Handle.Start != k.Start {
		return fmt.Errorf("%w: the run's events name another process", worker.ErrNotOurs)
	}
	return nil
}

// endNow is worker.End for a worker that may end by itself meanwhile, or be ended
// by another process: then it is not there to be proved.
func (s *Supervisor) endNow(ctx context.Context, e *ending) error {
	err := worker.End(ctx, s.Table, e.folder, e.marker)
	if err != nil && !s.stillRuns(e) {
		return nil
	}
	return err
}

// owned is Owned for a worker that was seen to run, and may have ended since.
func (s *Supervisor) owned(w *run.Worker, o worker.Observation) error {
	err := Owned(s.Table, o, w)
	if err != nil && !s.stillRuns(&ending{folder: Folder(s.Run, w.ID), marker: w.Owner}) {
		return nil
	}
	return err
}

// stillRuns reports whether a worker may still run.
func (s *Supervisor) stillRuns(e *ending) bool {
	o, err := worker.Observe(s.Table, e.folder, e.marker)
	return err != nil || !o.Gone()
}

// Stopped is what Stop did about one worker.
type Stopped struct {
	Worker string `json:"worker"`
	Task   string `json:"task,omitempty"` // that it held
	Done   bool   `json:"done"`
	Seen   string `json:"seen,omitempty"`
	Error  string `json:"error,omitempty"` // why it was not stopped
}

// Stop ends workers at work that are proved to be ours: it asks each to end, and
// kills it after worker.Grace. Their tasks have failed because of why, and no
// supervisor starts them again. Other supervisors may work on the run meanwhile.
// A worker that is not stopped has its Error.
func (s *Supervisor) Stop(ctx context.Context, ids []string, why string) ([]Stopped, error) {
	s.prepareStop()
	out := make([]Stopped, len(ids))
	err := s.Run.Change(func(c *run.Change) error {
		for i, id := range ids {
			out[i].Worker = id
			out[i].take(s.ask(c, &out[i], why))
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	var wait sync.WaitGroup
	for i := range out {
		if e := s.ending[out[i].Worker]; e != nil && out[i].Error == "" {
			wait.Go(func() { out[i].take(s.endNow(ctx, e)) })
		}
	}
	wait.Wait()
	for {
		s.wanted = nil
		err := s.Run.Change(func(c *run.Change) error {
			for i := range out {
				if out[i].Error == "" {
					out[i].take(s.settle(c, &out[i], why))
				}
			}
			return nil
		})
		if err != nil || len(s.wanted) == 0 {
			return out, err
		}
		for _, id := range s.wanted { // one has ended by itself just before
			s.examine(id)
		}
	}
}

func (s *Supervisor) prepareStop() {
	s.begin()
	s.Plan = func(run.Task, *run.State) (Plan, error) { return Plan{}, ErrByHand }
	if s.Say == nil {
		s.Say = func(string) {}
	}
}

func (d *Stopped) take(err error) {
	if err != nil {
		d.Error = err.Error()
	}
}

// ask records why a worker has to end, after checking that it may be ended.
func (s *Supervisor) ask(c *run.Change, d *Stopped, why string) error {
	w := c.State.Worker(d.Worker)
	switch {
	case w == nil:
		return fmt.Errorf("run %s has no worker %q; run: aisync run worker list --run %s", s.Run.ID, d.Worker, s.Run.ID)
	case w.Substrate == run.External:
		return errors.New("it was not started by aisync, which does not end it; it gives its task back with: aisync run release")
	}
	t := heldBy(c.State, w.ID)
	if t != nil {
		d.Task = t.ID
	} else if w.Retention != run.Active && w.Retention != run.StaleRegistry {
		return fmt.Errorf("its work is over (%s); to end what is left of it: aisync run worker let-go %s --run %s, then: aisync run cleanup --safe %s", w.Retention, w.ID, s.Run.ID, s.Run.ID)
	}
	folder := Folder(s.Run, w.ID)
	o, err := worker.Observe(s.Table, folder, w.Owner)
	if err != nil {
		return err
	}
	if o.State == worker.Absent || o.State == worker.Waiting {
		if err := worker.Ask(folder, w.Owner, why, true); err != nil {
			return err
		}
		if off, err := worker.CallOff(folder, w.ID, w.Owner, why); off || err != nil {
			return err
		}
		if o, err = worker.Observe(s.Table, folder, w.Owner); err != nil {
			return err
		}
	}
	if o.Ticket != nil && o.Ticket.Keeper != nil && w.Handle == nil && w.Retention == run.Active {
		if err := s.started(c, w, o); err != nil {
			return err
		}
	}
	if o.State != worker.Running {
		return nil // its end is only to be recorded
	}
	if err := s.owned(w, o); err != nil {
		return fmt.Errorf("%s: %w; end it yourself if it is this run's", o, err)
	}
	s.ending[w.ID] = &ending{folder: folder, marker: w.Owner}
	return worker.Ask(folder, w.Owner, why, true)
}

// settle records the end of a stopped worker, unless another supervisor has done
// so.
func (s *Supervisor) settle(c *run.Change, d *Stopped, why string) error {
	w := c.State.Worker(d.Worker)
	if t := heldBy(c.State, w.ID); t != nil || w.Retention == run.Active {
		if err := s.observeWorker(c, w, t); err != nil {
			return err
		}
	}
	o, err := worker.Observe(s.Table, Folder(s.Run, w.ID), w.Owner)
	if err != nil {
		return err
	}
	d.Seen, d.Done = o.String(), o.Gone()
	if w = c.State.Worker(d.Worker); w.Retention == run.StaleRegistry && o.Gone() && o.Stop != nil {
		return c.Move(w.ID, run.Move{To: run.SafeToClose, By: run.ByOperator, Reason: clip("it was ended: " + why)})
	}
	return nil
}

// StopAll stops all workers of the run that are at work, and ends the run as
// cancelled because of why. Supervisors start no worker from then on, not even
// after a crash in between. If a claim remains, such as a person's, the run
// stays active, and the error names it.
func (s *Supervisor) StopAll(ctx context.Context, why string) (out []Stopped, err error) {
	err = s.Run.Change(func(c *run.Change) error {
		if c.State.Over() {
			return nil
		}
		return c.Note(run.RunNote, run.Note{Cancel: true, Reason: clip(why)})
	})
	if err != nil {
		return nil, err
	}
	for tried := map[string]bool{}; ; { // a supervisor may have started another just before
		st, err := s.Run.State()
		if err != nil {
			return out, err
		}
		var ids []string
		for i := range st.Workers {
			if w := &st.Workers[i]; !tried[w.ID] && s.atWork(st, w) {
				tried[w.ID] = true
				ids = append(ids, w.ID)
			}
		}
		if len(ids) == 0 {
			break
		}
		done, err := s.Stop(ctx, ids, why)
		out = append(out, done...)
		if err != nil {
			return out, err
		}
	}
	if slices.ContainsFunc(out, func(d Stopped) bool { return !d.Done }) {
		return out, nil
	}
	var no *run.Refusal
	if err = s.Run.Finish(run.RunCancelled, why); errors.As(err, &no) && no.Rule == "run-is-over" {
		return out, nil // a supervisor was faster, or it was over before
	}
	return out, err
}

// atWork reports whether a worker of ours holds a task, or may still run though
// it holds none.
func (s *Supervisor) atWork(st *run.State, w *run.Worker) bool {
	if w.Substrate == run.External {
		return false
	}
	if heldBy(st, w.ID) != nil {
		return true
	}
	if w.Retention != run.Active && w.Retention != run.StaleRegistry {
		return false
	}
	o, err := worker.Observe(s.Table, Folder(s.Run, w.ID), w.Owner)
	return err != nil || o.State == worker.Running
}
