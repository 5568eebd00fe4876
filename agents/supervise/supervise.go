// Package supervise works the task graph of a run: it claims ready tasks, starts
// workers for them, renews the leases of live ones, collects those that have
// ended, and stops when nothing is left. It ends only workers whose time is over
// or that a person stops, and deletes nothing.
//
// A supervisor has no state beside the run's events and the workers' folders:
// after a crash the next one continues, and any number of them may work on one
// run at once. Call Supervisor.Work.
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
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/internal/termtext"
)

// Plan says how to start the worker of one task.
type Plan struct {
	Adapter, Substrate string
	Command            []string
	Env                []string // NAME=value, on top of the supervisor's
	Ready              string   // see worker.Job
	ReadyDelay         int
	Dialogs            []string
	// Confined is the sandbox of the worker, without its work tree; nil: it has the
	// rights of the person.
	Confined *worker.Confined
}

// Refused is Supervisor.Plan's error for a task that needs a sandbox which it cannot
// have. No worker starts, and that is no attempt.
type Refused struct {
	Why  string
	Next string // what a person does
}

func (r *Refused) Error() string { return r.Why }

// Hint returns what a person does.
func (r *Refused) Hint() string { return r.Next }

// Executor does tasks in this process.
type Executor interface {
	// Start takes the prepared worker of a folder (worker.Take) and does its task,
	// or returns an error that says that nothing was done. It does not wait; it calls
	// ended when the end of the worker is recorded. With the token of the claim it
	// may give the task back.
	Start(folder string, j worker.Job, token string, ended func()) error
}

// ErrByHand is Supervisor.Plan's error for a task that a person claims.
var ErrByHand = errors.New("done by hand")

// Supervisor works one run.
type Supervisor struct {
	Run     *run.Run
	Plan    func(run.Task, *run.State) (Plan, error) // an error is a failed attempt, ErrByHand, *run.NotEnabled or *Refused
	Starter worker.Starter
	// Executor does the tasks in this process, in place of workers that Starter
	// starts. It may be nil.
	Executor Executor
	// Hold takes what a task writes before its worker starts; release gives it back
	// when that has ended. An error says who has it: the task waits. seat has the claims,
	// "" where there are none. Hold may be nil.
	Hold func(task string, globs []string) (seat string, release func(), err error)
	// Single is for a run that is one task: Work makes one attempt at most, and
	// leaves a task that another supervisor's worker has.
	Single bool
	Table  process.Table
	Say    func(text string) // prints a line for a person
	Poll   time.Duration     // how often workers are observed while nothing happens; 0: half a second

	self    worker.Identity
	pending []start           // registered in the last change, to be started after it
	results map[string]result // of ended workers, as far as they are required
	wanted  []string          // workers whose result to look at
	news    bool              // something happened in this round
	stuck   string            // why no task can proceed; "" while one can
	lines   []string          // to print when the run's lock is released
	said    map[string]bool
	ended   chan struct{}
	ending  map[string]*ending // workers that this supervisor ends
	mine    []string           // workers that this supervisor started
	holds   map[string]func()  // by worker: gives back what its task writes
	waiting map[string]string  // by task: who has what it writes, in this round
}

// Outcome is why Work returned.
type Outcome struct {
	Status string // of the run, as run.RunActive
	Reason string // why it ended, or what it waits for
}

// Folder returns the folder of a worker's handle.
func Folder(r *run.Run, workerID string) string { return filepath.Join(r.Path, "workers", workerID) }

// Work works the run until it is over, nothing can proceed, or ctx ends. After a
// crash its workers live on, and another Work adopts them. A run that waits for
// a person stays active, and Reason names what it waits for.
func (s *Supervisor) Work(ctx context.Context) (Outcome, error) {
	var err error
	if s.self, err = worker.Self(s.Table); err != nil {
		return Outcome{}, fmt.Errorf("identify this process: %w", err)
	}
	if s.Say == nil {
		s.Say = func(string) {}
	}
	s.begin()
	s.Starter.Ended = s.wake
	defer s.awaitEndings()
	defer s.giveBack(nil)
	if out, err := s.join(); err != nil || out.Status != run.RunActive {
		return out, err
	}
	calm, wait := s.Poll, time.Duration(0)
	if calm == 0 {
		calm = 500 * time.Millisecond
	}
	for {
		out, err := s.round(ctx)
		if err != nil {
			return out, errors.Join(err, s.leave("it failed: "+err.Error()))
		}
		if out.Status != run.RunActive || s.stuck != "" {
			return out, s.leave(cmp.Or(out.Reason, "the run is "+out.Status))
		}
		// Quick ends are seen quickly; long work is polled rarely.
		if wait = min(2*wait+5*time.Millisecond, calm); s.news {
			wait = 5 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return Outcome{run.RunActive, "the supervisor was asked to stop"}, s.leave("it was asked to stop")
		case <-s.ended:
		case <-time.After(wait):
		}
	}
}

// begin makes what a supervisor remembers while it works.
func (s *Supervisor) begin() {
	s.results, s.said, s.ending, s.ended = map[string]result{}, map[string]bool{}, map[string]*ending{}, make(chan struct{}, 1)
	s.mine, s.holds = nil, map[string]func(){}
}

// wake begins the next round at once.
func (s *Supervisor) wake() {
	select {
	case s.ended <- struct{}{}:
	default:
	}
}

// join records this supervisor's start. For a finished run it only settles the
// workers.
func (s *Supervisor) join() (out Outcome, err error) {
	err = s.Run.Change(func(c *run.Change) error {
		if out = outcome(c.State); out.Status != run.RunActive {
			return s.observe(c)
		}
		return c.Note(run.SupervisorJoined, map[string]any{"pid": s.self.PID, "start": s.self.Start, "boot": s.self.Boot})
	})
	return out, err
}

func (s *Supervisor) leave(why string) error {
	return s.Run.Note(run.SupervisorLeft, map[string]any{"pid": s.self.PID, "start": s.self.Start, "reason": clip(why)})
}

func outcome(st *run.State) Outcome { return Outcome{st.Contract.Status, st.Reason} }

// round observes every worker once, records the results, and gives ready tasks
// to new workers.
func (s *Supervisor) round(ctx context.Context) (out Outcome, err error) {
	s.news, s.stuck, s.pending, s.wanted, s.lines, s.waiting = false, "", nil, nil, nil, map[string]string{}
	defer func() { s.flush(err == nil) }()
	done := ""
	err = s.Run.Change(func(c *run.Change) error {
		if out = outcome(c.State); out.Status != run.RunActive {
			return nil
		}
		if err := s.observe(c); err != nil {
			return err
		}
		s.adopt(c.State)
		s.giveBack(c.State)
		if err := s.spawn(c); err != nil {
			return err
		}
		done, out.Reason = s.outcome(c.State)
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
		s.examine(id)
	}
	s.endAsked(ctx)
	if done == "" {
		return out, nil
	}
	return s.finish(done, out.Reason)
}

// finish ends the run. It waits for nothing that its contract still requires.
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

// tell queues a line about an event, printed once the event is recorded.
func (s *Supervisor) tell(format string, args ...any) {
	s.news = true
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// warn prints a line once.
func (s *Supervisor) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !s.said[text] {
		s.said[text] = true
		s.lines = append(s.lines, text)
	}
}

// flush prints the queued lines if is, the events are recorded.
func (s *Supervisor) flush(is bool) {
	for _, line := range s.lines {
		if is {
			s.Say(line)
		}
	}
	s.lines = nil
}

// clip shortens a text for an event.
func clip(s string) string { return termtext.Clip(s, 2001) }
