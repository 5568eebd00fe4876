package supervise

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/run"
)

// outcome returns the status with which the run ends, or "" while work is left;
// s.stuck is then why it waits for a person, if it does.
func (s *Supervisor) outcome(st *run.State) (status, why string) {
	if s.news || len(s.pending) > 0 {
		return "", ""
	}
	ready, held, waits := st.Ready(), 0, []string(nil)
	for i := range st.Tasks {
		t := &st.Tasks[i]
		if !t.Held() {
			continue
		}
		held++
		if w := st.Worker(t.Claim.Worker); w.Substrate != run.External && w.Retention == run.StaleRegistry {
			waits = append(waits, fmt.Sprintf("task %s is held by worker %s, which is %s: %s", t.ID, w.ID, w.Retention, lastSeen(w)))
		}
	}
	switch {
	case s.Single && s.left(st):
		s.stuck = "it makes no further attempt"
		return "", s.stuck
	case held > len(waits):
		return "", ""
	case st.Cancelling != "" && held == 0:
		return run.RunCancelled, st.Cancelling
	case st.Cancelling != "":
		s.stuck = "it is being cancelled; " + strings.Join(waits, "; ")
		return "", s.stuck
	}
	for _, t := range ready {
		if other := s.livePrevious(st, t); other != "" {
			waits = append(waits, fmt.Sprintf("task %s is free, but worker %s, which had it, may still live", t.ID, other))
		} else if t.Stopped != "" {
			waits = append(waits, fmt.Sprintf("task %s was stopped: %s; to do it by hand: aisync run claim %s --worker NAME, after aisync run worker register NAME; to end the run: aisync run finish %s --as cancelled --reason WHY", t.ID, t.Stopped, t.ID, st.ID))
		} else if _, err := s.Plan(*t, st); waitsForPerson(err) {
			waits = append(waits, whatToDo(t, err))
		} else if who := s.waiting[t.ID]; who != "" {
			waits = append(waits, fmt.Sprintf("task %s waits: %s", t.ID, who))
		}
	}
	switch {
	case len(waits) == held+len(ready) && len(waits) > 0:
		s.stuck = strings.Join(waits, "; ")
		return "", s.stuck
	case held > 0 || len(ready) > 0:
		return "", ""
	}
	var lost []string
	for _, t := range st.Tasks {
		if t.Status == run.TaskLost {
			lost = append(lost, t.ID)
		}
	}
	if len(lost) == 0 && len(st.Blocked()) == 0 {
		return run.RunCompleted, ""
	}
	slices.Sort(lost)
	why = "failed permanently: " + strings.Join(lost, ", ")
	if n := len(st.Blocked()); n > 0 {
		why += fmt.Sprintf("; tasks that depend on them: %d", n)
	}
	return run.RunFailed, clip(why)
}

// left reports whether nothing is left for a supervisor that makes one attempt, or
// without an executor none, though its run is not over.
func (s *Supervisor) left(st *run.State) bool {
	for i := range st.Tasks {
		t := &st.Tasks[i]
		switch {
		case t.Held():
			return !slices.Contains(s.mine, t.Claim.Worker)
		case t.Status == run.TaskPending:
			return len(s.mine) > 0 || s.Executor == nil
		}
	}
	return false
}

// waitsForPerson reports whether a plan's error is no failed attempt: the task
// stays ready until a person does it, enables its adapter, or makes its sandbox
// possible.
func waitsForPerson(err error) bool {
	var off *run.NotEnabled
	var no *Refused
	return errors.Is(err, ErrByHand) || errors.As(err, &off) || errors.As(err, &no)
}

func whatToDo(t *run.Task, err error) string {
	if off := (*run.NotEnabled)(nil); errors.As(err, &off) {
		return fmt.Sprintf("task %s has no worker: %v; %s", t.ID, off, off.Hint())
	}
	if no := (*Refused)(nil); errors.As(err, &no) {
		return fmt.Sprintf("task %s has no worker: %v; %s", t.ID, no, no.Hint())
	}
	return fmt.Sprintf("task %s is done by hand: aisync run claim %s --worker NAME, after aisync run worker register NAME", t.ID, t.ID)
}

func lastSeen(w *run.Worker) string {
	if len(w.Moves) == 0 {
		return "never observed"
	}
	return w.Moves[len(w.Moves)-1].Observed
}
