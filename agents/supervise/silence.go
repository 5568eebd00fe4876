package supervise

import (
	"fmt"
	"os"
	"time"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
)

// Silence returns for how long a live worker that holds a task has given no sign
// of life, if that is longer than the run's heartbeat timeout, else 0. A sign of
// life is the worker's: its start, that it is ready, its heartbeat, or that it
// prints. That its process lives is none: it may hang. A silent worker keeps its
// task, and only a person ends it.
func Silence(r *run.Run, st *run.State, w *run.Worker) time.Duration {
	quiet := w.Quiet(r.Now())
	info, err := os.Lstat(logOf(r, w.ID))
	if err == nil && info.Size() != w.Output { // it has printed since its last renewal
		quiet = max(0, min(quiet, r.Now().Time().Sub(info.ModTime())))
	}
	if quiet <= ms(st.Settings().HeartbeatMS) {
		return 0
	}
	return quiet
}

// advice returns what a person does about a silent worker.
func advice(r *run.Run, workerID string, o worker.Observation) string {
	if o.Keeper != worker.Here {
		return fmt.Sprintf("look at %s; its process is not proved to be this worker's: if it is, end it yourself, then: aisync run supervise %s", logOf(r, workerID), r.ID)
	}
	if window := o.Window(); window != "" {
		return fmt.Sprintf("look at its window: %s; to end it: aisync run stop %s --run %s", window, workerID, r.ID)
	}
	return fmt.Sprintf("look at %s; to end it: aisync run stop %s --run %s", logOf(r, workerID), workerID, r.ID)
}

// Trouble is what a person should know about a worker at work.
type Trouble struct {
	What, Fix string
	Silent    time.Duration // 0: it gives signs of life
}

// TroubleOf returns what is wrong with a worker of ours, seen as o, that holds a
// task; nil if nothing is. It writes nothing.
func TroubleOf(r *run.Run, st *run.State, w *run.Worker, o worker.Observation) *Trouble {
	t := heldBy(st, w.ID)
	if t == nil || o.State != worker.Running {
		return nil
	}
	if quiet := Silence(r, st, w).Round(time.Second); quiet > 0 {
		return &Trouble{fmt.Sprintf("no heartbeat and no output for %s: %s", quiet, o), advice(r, w.ID, o), quiet}
	}
	if o.Asks != nil && o.Keeper == worker.Here {
		return &Trouble{What: o.String(), Fix: "answer in its window: " + o.Window()}
	}
	if late := t.Late(r.Now()); late > 3*worker.Grace { // longer than it takes a supervisor to end it
		return &Trouble{What: fmt.Sprintf("the time for task %s has been over for %s: %s", t.ID, late.Round(time.Second), o), Fix: "aisync run supervise " + r.ID}
	}
	return nil
}

// printed returns how many bytes a worker has printed.
func printed(r *run.Run, workerID string) int64 {
	info, err := os.Lstat(logOf(r, workerID))
	if err != nil {
		return 0
	}
	return info.Size()
}

// reportQuestion tells of a question that a worker asks while it works, once. The
// worker stays active: it goes on when a person answers.
func (s *Supervisor) reportQuestion(w *run.Worker, t *run.Task, o worker.Observation) {
	if o.AskedLate() {
		s.warn("%s: worker %s is %s, since %s; answer in its window: %s", t.ID, w.ID, o, o.Asks.At.Local().Format("15:04:05"), o.Window())
	}
}

// reportSilence tells of a silent worker, once until it gives another sign of
// life. A worker that is silent and cannot be proved to live is stale.
func (s *Supervisor) reportSilence(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	key := "silent " + w.ID
	quiet := Silence(s.Run, c.State, w).Round(time.Second)
	if quiet == 0 {
		delete(s.said, key)
		return nil
	}
	if !s.said[key] {
		s.said[key] = true
		s.lines = append(s.lines, fmt.Sprintf("%s: no heartbeat and no output of worker %s for %s: %s; %s", t.ID, w.ID, quiet, o, advice(s.Run, w.ID, o)))
	}
	if o.Keeper == worker.Here {
		return nil
	}
	return s.stale(c, w, fmt.Sprintf("%s, without a heartbeat for %s", o, quiet))
}
