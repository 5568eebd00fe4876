package supervise

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/run"
)

// rest says whether anything is left to do: with which status the run ends, or ""
// and, in s.stuck, why it goes on only when a person has done something.
func (s *Supervisor) rest(st *run.State) (status, why string) {
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
		if other := s.formerAlive(st, t); other != "" {
			waits = append(waits, fmt.Sprintf("task %s is free, but worker %s, which had it, is not seen to be gone", t.ID, other))
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
	why = "failed for good: " + strings.Join(lost, ", ")
	if n := len(st.Blocked()); n > 0 {
		why += fmt.Sprintf("; waiting for them: %d", n)
	}
	return run.RunFailed, clip(why)
}

func lastSeen(w *run.Worker) string {
	if len(w.Moves) == 0 {
		return "nothing was seen of it"
	}
	return w.Moves[len(w.Moves)-1].Observed
}
