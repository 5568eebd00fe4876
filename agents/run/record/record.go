// Package record records external work as a run: a session of an agent, a task
// of the queue. It never starts, ends or delays the work; a failure to record is
// an error at the end. Call Begin, then Recording.End.
package record

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/schema/spec"
)

// Work describes work that begins.
type Work struct {
	Goal     string
	By       string // the agent's id; optional
	Task     spec.RunTask
	Worker   string
	Register run.Registration // Task and Substrate are set by Begin
}

// Outcome is the result of work.
type Outcome struct {
	Status   string // run.RunCompleted, run.RunFailed, run.RunCancelled: given back undone
	Reason   string // why it is not completed
	Evidence []run.Evidence
	Outputs  []Output
}

// Output is a text whose copy stays with the run.
type Output struct {
	Name string
	Text []byte
}

// Recording is work in progress that is recorded.
type Recording struct {
	ended chan Outcome
	done  chan error
}

// Begin starts recording work in the store that open returns, and returns at
// once. Its run lies beside the active one. Its claim is renewed while this
// process lives: after a crash it is overdue, which run status and doctor
// report.
func Begin(open func() (*run.Store, error), w Work) *Recording {
	r := &Recording{ended: make(chan Outcome, 1), done: make(chan error, 1)}
	go func() { r.done <- record(open, w, r.ended) }()
	return r
}

// patience is how long End waits for a lock of another process.
const patience = 10 * time.Second

// End records the outcome and returns all errors of recording. Call it once.
func (r *Recording) End(o Outcome) error {
	r.ended <- o
	select {
	case err := <-r.done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("no write succeeded within %s", patience)
	}
}

func record(open func() (*run.Store, error), w Work, ended <-chan Outcome) error {
	r, token, err := begin(open, w)
	if err != nil {
		<-ended
		return err
	}
	defer r.Close()
	s, err := r.State()
	if err != nil {
		return err
	}
	// three heartbeats in a lease
	beat := time.NewTicker(time.Duration(s.Settings().LeaseMS) * time.Millisecond / 3)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			err = r.Renew(token, 0) // the next one may succeed; only the last one's error counts
		case o := <-ended:
			return errors.Join(err, end(r, w, token, o))
		}
	}
}

func begin(open func() (*run.Store, error), w Work) (*run.Run, string, error) {
	store, err := open()
	if err != nil {
		return nil, "", err
	}
	c, err := store.Config()
	if err != nil {
		return nil, "", err
	}
	r, err := store.Start(run.Plan{Goal: w.Goal, By: w.By, Tasks: []spec.RunTask{w.Task}, Settings: c.Settings, Reasons: c.Reasons, Aside: true})
	if err != nil {
		return nil, "", err
	}
	w.Register.Task, w.Register.Substrate = w.Task.ID, run.External
	token := ""
	err = r.Change(func(c *run.Change) error {
		if err := c.Register(w.Worker, w.Register); err != nil {
			return err
		}
		if token, err = c.Claim(w.Task.ID, w.Worker, 0); err != nil {
			return err
		}
		return c.Held(run.WorkerReady, token, 0, nil)
	})
	if err != nil {
		r.Close()
		return nil, "", err
	}
	return r, token, nil
}

// end records the evidence, the end of the claim and the worker's retention in
// one change, and then the end of the run.
func end(r *run.Run, w Work, token string, o Outcome) error {
	for _, out := range o.Outputs {
		ref, digest, size, err := r.KeepOutput(bytes.NewReader(out.Text))
		if err != nil {
			return err
		}
		o.Evidence = append(o.Evidence, run.Evidence{Kind: "output", Name: out.Name, Ref: ref, Digest: digest, Size: size})
	}
	kind, data := run.TaskFailed, any(run.Reason{Reason: o.Reason})
	why := "its work has " + o.Status
	switch o.Status {
	case run.RunCompleted:
		kind, data, why = run.TaskCompleted, nil, "its work is done"
	case run.RunCancelled:
		kind, why = run.ClaimReleased, "its work was returned undone"
	}
	err := r.Change(func(c *run.Change) error {
		for _, e := range o.Evidence {
			if err := c.AddEvidence(token, e); err != nil {
				return err
			}
		}
		if err := c.Held(kind, token, 0, data); err != nil {
			return err
		}
		to := run.Retention(c.State.Settings().CompletedDefault)
		return c.Move(w.Worker, run.Move{To: to, By: run.BySupervisor, Reason: why})
	})
	if err != nil {
		return err
	}
	return r.Finish(o.Status, o.Reason)
}
