package supervise

import (
	"slices"

	"aisync.dev/aisync/agents/run"
)

// hold takes what t writes.
func (s *Supervisor) hold(t *run.Task) (seat string, release func(), err error) {
	if s.Hold == nil || len(t.Write) == 0 {
		return "", func() {}, nil
	}
	return s.Hold(t.ID, t.Write)
}

// adopt takes what workers write that another supervisor started, whose claims ended
// with it. Where that one is at work, or an agent was faster, it takes nothing.
func (s *Supervisor) adopt(st *run.State) {
	for _, w := range st.Workers {
		if _, done := s.holds[w.ID]; done || w.Retention != run.Active || w.Substrate == run.External || st.Task(w.Task) == nil {
			continue
		}
		_, release, err := s.hold(st.Task(w.Task))
		if err != nil {
			release = func() {}
		}
		s.holds[w.ID] = release
	}
}

// giveBack releases what workers wrote that have ended by st; with nil what all did.
func (s *Supervisor) giveBack(st *run.State) {
	for id, release := range s.holds {
		if st != nil {
			if w := st.Worker(id); w == nil || slices.Contains([]run.Retention{run.Active, run.StaleRegistry}, w.Retention) {
				continue
			}
		}
		release()
		delete(s.holds, id)
	}
}
