package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/worker"
)

// collect takes in a worker that has ended: that its command ran is evidence, so
// is what it printed where the task asks for that, and its exit code says whether
// the task is done.
func (s *Supervisor) collect(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	wanted, asked := outputOf(t, w)
	output, kept := s.outputs[w.ID]
	switch {
	case o.Keeper == worker.Here: // it is about to go
		s.news = true
		return nil
	case asked && !kept: // without the run's lock: it may be much
		s.wanted, s.news = append(s.wanted, w.ID), true
		return nil
	}
	token := t.Claim.Token
	if !agent(w) { // that an agent has ended proves nothing of its work
		name, _ := named(t, "command")
		if err := c.AddEvidence(token, run.Evidence{Kind: "command", Name: name, Command: clip(strings.Join(o.Job.Command, " ")), ExitCode: &o.Exit.Code}); err != nil {
			return err
		}
	}
	if output.Size > 0 {
		output.Name = wanted
		if err := c.AddEvidence(token, output); err != nil {
			return err
		}
	}
	why := ""
	switch {
	case o.Exit.Code != 0:
		why = o.String()
	case agent(w) && w.Substrate == run.Tmux: // somebody has closed it
		why = "it ended and did not say that it was done: aisync run worker done"
	}
	if why != "" {
		return errors.Join(s.fail(c, w, t, why), s.idle(c, w, o))
	}
	err := c.Held(run.TaskCompleted, token, 0, nil)
	var no *run.Refusal
	switch {
	case errors.As(err, &no):
		if err := s.fail(c, w, t, no.Error()); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		s.tell("%s: done (worker %s)", t.ID, w.ID)
	}
	return s.idle(c, w, o)
}

// outputOf says whether what a worker prints is evidence, and under which name:
// where the task asks for it, and of an agent, whose answer it is. What a terminal
// shows is neither.
func outputOf(t *run.Task, w *run.Worker) (name string, asked bool) {
	name, asked = named(t, "output")
	return name, asked || agent(w) && w.Substrate == run.Process
}

// named is the name under which a task asks for evidence of a kind first.
func named(t *run.Task, kind string) (name string, asked bool) {
	for _, want := range t.Evidence {
		if k, name, _ := strings.Cut(want, ":"); k == kind {
			return name, true
		}
	}
	return "", false
}

// agent reports whether a worker is a program that thinks.
func agent(w *run.Worker) bool { return w.Adapter != command }

// command is the adapter of tasks that are a command.
const command = "command"

// keepOutput keeps a copy of what a worker printed: its log may go one day. What
// cannot be read is no evidence.
func (s *Supervisor) keepOutput(workerID string) {
	e, err := s.copyLog(workerID)
	if err != nil {
		s.warn("worker %s: what it printed is no evidence: %v", workerID, err)
	}
	s.outputs[workerID] = e
}

func (s *Supervisor) copyLog(workerID string) (run.Evidence, error) {
	f, err := os.OpenFile(logOf(s.Run, workerID), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return run.Evidence{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return run.Evidence{}, fmt.Errorf("%s is not a regular file", f.Name())
	}
	e := run.Evidence{Kind: "output"}
	e.Ref, e.Digest, e.Size, err = s.Run.KeepOutput(f)
	return e, err
}

// logName is where the log of a worker lies, below the run's folder.
func logName(workerID string) string { return filepath.Join("logs", workerID+".log") }

func logOf(r *run.Run, workerID string) string { return filepath.Join(r.Path, logName(workerID)) }
