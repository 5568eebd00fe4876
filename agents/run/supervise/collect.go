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

// collect records a worker that has ended: its command's run is evidence, so is
// its output if the task asks for that, and its exit code decides whether the
// task is done.
func (s *Supervisor) collect(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	wanted, asked := outputOf(t, w)
	output, kept := s.outputs[w.ID]
	switch {
	case o.Keeper == worker.Here: // it is about to exit
		s.news = true
		return nil
	case asked && !kept: // outside the run's lock: it may be large
		s.wanted, s.news = append(s.wanted, w.ID), true
		return nil
	}
	token := t.Claim.Token
	if !agent(w) { // an agent's exit proves nothing about its work
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
	case agent(w) && w.Substrate == run.Tmux: // its window was closed
		why = "it ended without: aisync run worker done"
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

// outputOf returns whether a worker's output is evidence, and under which name:
// where the task asks for it, and of an agent, whose answer it is. Terminal
// output is no evidence.
func outputOf(t *run.Task, w *run.Worker) (name string, asked bool) {
	name, asked = named(t, "output")
	return name, asked || agent(w) && w.Substrate == run.Process
}

// named returns the name of the first requirement of a kind.
func named(t *run.Task, kind string) (name string, asked bool) {
	for _, want := range t.Evidence {
		if k, name, _ := strings.Cut(want, ":"); k == kind {
			return name, true
		}
	}
	return "", false
}

// agent reports whether a worker runs an agent program.
func agent(w *run.Worker) bool { return w.Adapter != command }

// command is the adapter of tasks that are a command.
const command = "command"

// keepOutput keeps a copy of a worker's output, because its log may be removed.
// Unreadable output is no evidence.
func (s *Supervisor) keepOutput(workerID string) {
	e, err := s.copyLog(workerID)
	if err != nil {
		s.warn("worker %s: its output is not kept as evidence: %v", workerID, err)
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

// logName returns the log file of a worker, below the run's folder.
func logName(workerID string) string { return filepath.Join("logs", workerID+".log") }

func logOf(r *run.Run, workerID string) string { return filepath.Join(r.Path, logName(workerID)) }
