// Package supervise works the task graph of a run: it claims tasks that are ready,
// starts workers for them, renews the leases of those that live, collects those
// that have ended, and stops by itself. It ends no worker and deletes nothing.
//
// A supervisor keeps nothing that the run's events and the workers' folders do not
// have: killed anywhere, the next one goes on from there, and any number of them
// may work on one run at once. Start reading at Supervisor.Work, then settle.go.
package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/worker"
	"aisync.dev/aisync/internal/termtext"
)

// Plan is how the worker of one task is started.
type Plan struct {
	Adapter, Substrate string
	Command            []string
	Env                []string // NAME=value, on top of the supervisor's
	Ready              string   // see worker.Job
	ReadyDelay         int
}

// ErrByHand is what Supervisor.Plan returns for a task that no worker is started
// for: somebody claims it.
var ErrByHand = errors.New("it is done by hand")

// Supervisor works one run.
type Supervisor struct {
	Run     *run.Run
	Plan    func(run.Task, *run.State) (Plan, error) // an error is a failed attempt, or ErrByHand
	Starter worker.Starter
	Table   process.Table
	Say     func(text string) // a line for a person
	Poll    time.Duration     // how often workers are looked at while nothing happens; 0: half a second

	self    worker.Identity
	pending []start                 // registered in the last change, to be started after it
	outputs map[string]run.Evidence // of workers that have ended, as far as it is asked for
	wanted  []string                // workers whose output is to be kept
	news    bool                    // something happened in this round
	stuck   string                  // why nothing can proceed; "" while something can
	lines   []string                // to be said when the run's lock is free
	said    map[string]bool
	ended   chan struct{}
}

// Outcome is why Work returned.
type Outcome struct {
	Status string // of the run, as run.RunActive
	Reason string // why it ended so, or what it waits for
}

// Folder is where the handle of a run's worker is written down.
func Folder(r *run.Run, workerID string) string { return filepath.Join(r.Path, "workers", workerID) }

// Work works the run until it is over, nothing can proceed, or ctx ends. It may be
// killed at any point; its workers live on, and another Work adopts them. A run
// that waits for a person stays active, and Reason says for what.
func (s *Supervisor) Work(ctx context.Context) (Outcome, error) {
	var err error
	if s.self, err = worker.Self(s.Table); err != nil {
		return Outcome{}, fmt.Errorf("say which process this is: %w", err)
	}
	if s.Say == nil {
		s.Say = func(string) {}
	}
	s.outputs, s.said, s.ended = map[string]run.Evidence{}, map[string]bool{}, make(chan struct{}, 1)
	s.Starter.Ended = func() {
		select {
		case s.ended <- struct{}{}:
		default:
		}
	}
	if out, err := s.join(); err != nil || out.Status != run.RunActive {
		return out, err
	}
	calm, wait := s.Poll, time.Duration(0)
	if calm == 0 {
		calm = 500 * time.Millisecond
	}
	for {
		out, err := s.round()
		if err != nil {
			return out, errors.Join(err, s.leave("it failed: "+err.Error()))
		}
		if out.Status != run.RunActive || s.stuck != "" {
			return out, s.leave(cmp.Or(out.Reason, "the run is "+out.Status))
		}
		// What ends soon is seen soon; what lasts is not looked at all the time.
		if wait = min(2*wait+5*time.Millisecond, calm); s.news {
			wait = 5 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return Outcome{run.RunActive, "its supervisor was asked to stop"}, s.leave("it was asked to stop")
		case <-s.ended:
		case <-time.After(wait):
		}
	}
}

// join writes down that this supervisor is here. Of a run that is over it only
// brings the workers up to what is seen of them.
func (s *Supervisor) join() (out Outcome, err error) {
	err = s.Run.Change(func(c *run.Change) error {
		if out = outcome(c.State); out.Status != run.RunActive {
			return s.settle(c)
		}
		return c.Note(run.SupervisorJoined, map[string]any{"pid": s.self.PID, "start": s.self.Start, "boot": s.self.Boot})
	})
	return out, err
}

func (s *Supervisor) leave(why string) error {
	return s.Run.Note(run.SupervisorLeft, map[string]any{"pid": s.self.PID, "start": s.self.Start, "reason": clip(why)})
}

func outcome(st *run.State) Outcome { return Outcome{st.Contract.Status, st.Reason} }

// round looks at every worker once, writes down what became of it, and gives
// tasks that are ready to new ones.
func (s *Supervisor) round() (out Outcome, err error) {
	s.news, s.stuck, s.pending, s.wanted, s.lines = false, "", nil, nil, nil
	defer func() { s.flush(err == nil) }()
	done := ""
	err = s.Run.Change(func(c *run.Change) error {
		if out = outcome(c.State); out.Status != run.RunActive {
			return nil
		}
		if err := s.settle(c); err != nil {
			return err
		}
		if err := s.spawn(c); err != nil {
			return err
		}
		done, out.Reason = s.rest(c.State)
		return nil
	})
	if err != nil {
		return out, err
	}
	s.flush(true)
	for _, p := range s.pending {
		if err := s.start(p); err != nil {
			return out, err
		}
	}
	for _, id := range s.wanted {
		s.keepOutput(id)
	}
	if done == "" {
		return out, nil
	}
	return s.finish(done, out.Reason)
}

// finish ends the run. What its contract still asks for is waited for by nobody.
func (s *Supervisor) finish(status, why string) (Outcome, error) {
	err := s.Run.Finish(status, why)
	var no *run.Refusal
	switch {
	case err == nil:
		return Outcome{status, why}, nil
	case !errors.As(err, &no):
		return Outcome{}, err
	case no.Rule == "run-is-over": // by another supervisor
		st, err := s.Run.State()
		if err != nil {
			return Outcome{}, err
		}
		return outcome(st), nil
	}
	s.stuck = no.Error()
	return Outcome{run.RunActive, s.stuck}, nil
}

// tell says something that has just happened, once it is written.
func (s *Supervisor) tell(format string, args ...any) {
	s.news = true
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// warn says something once.
func (s *Supervisor) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !s.said[text] {
		s.said[text] = true
		s.lines = append(s.lines, text)
	}
}

// flush says what there is to say, if it has become true.
func (s *Supervisor) flush(is bool) {
	for _, line := range s.lines {
		if is {
			s.Say(line)
		}
	}
	s.lines = nil
}

// clip keeps a text short enough for an event.
func clip(s string) string { return termtext.Clip(s, 2001) }
