package hook

import "testing"

// A worker may edit what is claimed for its task; others may not.
func TestWorkerHasTheClaimsOfItsTask(t *testing.T) {
	b := newBench(t)
	b.claim("task", "src")
	b.call("claude", "SessionStart", map[string]any{"session_id": "other"})
	if a := b.edit("other", "src/x.go"); a.Specific.Decision != "deny" {
		t.Errorf("another agent: %+v", a)
	}
	b.env["AISYNC_TASK_SEAT"] = "task"
	if a := b.edit("worker", "src/x.go"); a.Specific.Decision != "" || a.errs != "" {
		t.Errorf("the worker: %+v", a)
	}
	if owners := b.owners(); len(owners) != 1 {
		t.Errorf("claims: %v", owners)
	}
}
