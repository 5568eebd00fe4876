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
	if held > len(waits) {
		return "", ""
	}
	for _, t := range ready {
		if other := s.livePrevious(st, t); other != "" {
			waits = append(waits, fmt.Sprintf("task %s is free, but worker %s, which had it, may still live", t.ID, other))
		} else if _, err := s.Plan(*t, st); errors.Is(err, ErrByHand) {
			waits = append(waits, fmt.Sprintf("task %s is done by hand: aisync run claim %s --worker NAME, after aisync run worker register NAME", t.ID, t.ID))
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

func lastSeen(w *run.Worker) string {
	if len(w.Moves) == 0 {
		return "never observed"
	}
	return w.Moves[len(w.Moves)-1].Observed
}
