package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/agents/worktree"
)

// result is what an ended worker printed and wrote.
type result struct {
	output run.Evidence
	work   Work
	err    error // why its work could not be looked at
}

// collect records a worker that has ended: its command's run is evidence, so is
// its output if the task asks for that, and an agent's diff. Its exit code
// decides whether the task is done, and of an agent that may write, whether it
// wrote anything.
func (s *Supervisor) collect(c *run.Change, w *run.Worker, t *run.Task, o worker.Observation) error {
	wanted, asked := outputOf(t, w)
	found, looked := s.results[w.ID]
	switch {
	case o.Keeper == worker.Here && o.Held: // it is about to exit
		s.news = true
		return nil
	case !looked && (asked || agent(w) || w.Worktree != ""): // outside the run's lock: it may be large
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
	if found.output.Size > 0 {
		found.output.Name = wanted
		if err := c.AddEvidence(token, found.output); err != nil {
			return err
		}
	}
	if found.work.Changes.Ref != "" && agent(w) {
		if err := c.AddEvidence(token, found.work.Changes); err != nil {
			return err
		}
	}
	if why := failure(c.State, w, t, o, found); why != "" {
		if n := found.work.Uncommitted; n > 0 {
			why += fmt.Sprintf("; files that it left uncommitted in %s: %d", w.Worktree, n)
		}
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
		s.tell("%s: done (worker %s%s)", t.ID, w.ID, leftText(w, found.work, o))
	}
	return s.idle(c, w, o)
}

// failure returns why an ended worker has not done its task; "" if it has.
func failure(st *run.State, w *run.Worker, t *run.Task, o worker.Observation, found result) string {
	switch {
	case o.Exit.Code != 0:
		return o.String()
	case agent(w) && w.Substrate == run.Tmux: // its window was closed
		return "it ended without: aisync run worker done"
	case found.err != nil && (agent(w) || o.Job.Sandbox):
		return found.err.Error()
	case agent(w):
		return unproved(st, w, t, found.work.Wrote)
	}
	return ""
}

// leftText says what happened to what a worker left behind: files without a
// commit, and processes.
func leftText(w *run.Worker, work Work, o worker.Observation) string {
	text := ""
	if work.Saved > 0 {
		text += fmt.Sprintf("; aisync committed the files that it left uncommitted: %d", work.Saved)
	}
	if work.Uncommitted > 0 {
		text += fmt.Sprintf("; files that it left uncommitted in %s do not go on to other tasks: %d", w.Worktree, work.Uncommitted)
	}
	if len(o.Exit.Left) > 0 {
		text += "; ended what it left running: " + strings.Join(o.Exit.Left, ", ")
	}
	return text
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

// examine keeps a copy of a worker's output, because its log may be removed, and
// looks at its work. Unreadable output is no evidence.
func (s *Supervisor) examine(workerID string) {
	var found result
	st, err := s.Run.State()
	if err != nil {
		return // the next round looks again
	}
	w := st.Worker(workerID)
	t := heldBy(st, workerID)
	if w == nil || t == nil {
		return
	}
	if _, asked := outputOf(t, w); asked {
		if found.output, err = s.copyLog(workerID); err != nil {
			s.warn("worker %s: its output is not kept as evidence: %v", workerID, err)
		}
	}
	if agent(w) || w.Worktree != "" {
		o, err := worker.Observe(s.Table, Folder(s.Run, w.ID), w.Owner)
		ended := err == nil && o.Exit != nil && o.Exit.Code == 0
		boxed := err == nil && o.Job != nil && o.Job.Sandbox // there git's folder is read-only
		if boxed {
			found.err = worktree.Nested(w.Worktree)
		}
		if found.err == nil {
			found.work, found.err = WorkOf(context.Background(), s.Run, w, ended && (agent(w) || boxed))
		}
	}
	s.results[workerID] = found
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
