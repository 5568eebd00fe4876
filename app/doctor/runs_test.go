package doctor

import (
	"strings"
	"testing"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/schema/spec"
)

func TestWorkersThatDifferFromTheirRecordAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		run       string
		retention runs.Retention
		want, fix string // "" for nothing found
	}{
		"external in an active run":    {runs.RunActive, runs.Active, "", ""},
		"external in a run that ended": {runs.RunCancelled, runs.Active, "worker me (active): the run is cancelled; the program that started the worker has to end it", "aisync run worker let-go me --run r"},
		"external and let go":          {runs.RunCancelled, runs.SafeToClose, "", ""},
		"stale":                        {runs.RunActive, runs.StaleRegistry, "is not in the recorded state: gone", "aisync run worker confirm me --run r --reason WHAT"},
	} {
		w := &runs.Worker{ID: "me", Retention: c.retention, Moves: []runs.MoveAt{{Move: runs.Move{Reason: "gone"}}}}
		w.Substrate = runs.External
		got := checkWorker(&runs.Run{ID: "r"}, &runs.State{Contract: spec.RunContract{Status: c.run}}, w)
		if c.want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || c.want == "" || !strings.Contains(got[0].What, c.want) || !strings.HasSuffix(got[0].Fix, c.fix) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRetentionTextFollowsTheLifeOfWorkers(t *testing.T) {
	got := retentionText(map[runs.Retention]int{runs.Closed: 2, runs.Active: 1})
	if got != "1 active, 2 closed" {
		t.Error(got)
	}
}
