package start

import (
	"testing"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/schema/spec"
)

// The digest of a run changes with everything that its workers are started from,
// and with nothing that working on it changes.
func TestRunDigestIsOfWhatExecutes(t *testing.T) {
	made := func(change func(*run.State)) string {
		t.Helper()
		st := &run.State{
			ID: "r", Contract: spec.RunContract{RunID: "r", Goal: "port", CreatedAt: "2026-01-01T00:00:00Z", Status: run.RunActive},
			Policy: spec.RunPolicy{Settings: spec.RunSettings{Adapter: "codex", MaxWorkers: 2}},
			Tasks:  []run.Task{{RunTask: spec.RunTask{ID: "a", Command: []string{"true"}, Env: map[string]string{"A": "1"}}, Status: run.TaskPending}},
		}
		change(st)
		digest, err := RunDigest(st)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	was := made(func(*run.State) {})
	yes := true
	for name, change := range map[string]func(*run.State){
		"id":          func(s *run.State) { s.ID = "q" },
		"goal":        func(s *run.State) { s.Contract.Goal = "other" },
		"acceptance":  func(s *run.State) { s.Contract.Acceptance = []string{"x"} },
		"created":     func(s *run.State) { s.Contract.CreatedAt = "2026-01-02T00:00:00Z" },
		"adapter":     func(s *run.State) { s.Policy.Settings.Adapter = "claude" },
		"worktrees":   func(s *run.State) { s.Policy.Settings.WorktreeRoot = "/etc" },
		"command":     func(s *run.State) { s.Tasks[0].Command = []string{"true", "x"} },
		"task goal":   func(s *run.State) { s.Tasks[0].Goal = "x" },
		"env":         func(s *run.State) { s.Tasks[0].Env["A"] = "2" },
		"worktree":    func(s *run.State) { s.Tasks[0].Worktree = &yes },
		"task's kind": func(s *run.State) { s.Tasks[0].Adapter = "codex" },
		"new task":    func(s *run.State) { s.Tasks = append(s.Tasks, run.Task{RunTask: spec.RunTask{ID: "b"}}) },
	} {
		if made(change) == was {
			t.Errorf("another %s has the same digest", name)
		}
	}
	for name, change := range map[string]func(*run.State){
		"a claim":      func(s *run.State) { s.Tasks[0].Status, s.Tasks[0].Attempts = run.TaskHeld, 1 },
		"a failure":    func(s *run.State) { s.Tasks[0].Failures, s.Tasks[0].Reason = 2, "no" },
		"a worker":     func(s *run.State) { s.Workers = append(s.Workers, run.Worker{ID: "a.1"}) },
		"its end":      func(s *run.State) { s.Contract.Status, s.Reason = run.RunFailed, "no" },
		"later events": func(s *run.State) { s.AsOf.Seq = 9 },
	} {
		if made(change) != was {
			t.Errorf("%s changes the digest", name)
		}
	}
}
