package cleanup

import (
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/run"
)

// A run holds the work tree of a worker until the run is over and the worker is let
// go; it holds no other folder.
func TestHolder(t *testing.T) {
	f := begun(t, run.CompletedRetained)
	tree := filepath.Join(f.Workspace(), "tree")
	f.must(f.Register("w", run.Registration{Task: "a", Adapter: "command", Substrate: run.Process, Worktree: tree, Branch: "aisync/r/w", Owner: "m"}))
	holds := func(when, dir, want string) {
		t.Helper()
		why, err := Holder(f.Run, dir)
		if err != nil || (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %q, %v; want %q", when, why, err, want)
		}
	}
	holds("at work", tree, "is not over; see: aisync run status")
	holds("another folder, at work", tree+"x", "is not over")
	f.must(f.Finish(run.RunCancelled, "enough"))
	holds("active", tree, "worker w of run "+f.ID+" is active; see: aisync run cleanup --safe --dry-run")
	holds("another folder", tree+"x", "")
	move := func(to run.Retention, by string) {
		t.Helper()
		f.must(f.Move("w", run.Move{To: to, By: by, Reason: "test", Observed: "gone"}))
	}
	move(run.StaleRegistry, run.BySupervisor)
	holds("stale", tree, "is stale-registry")
	move(run.SafeToClose, run.ByOperator)
	holds("let go", tree, "")
}

// A finished worker that is kept to be looked at holds its work tree.
func TestRetainedWorkerHoldsItsTree(t *testing.T) {
	f := begun(t, run.CompletedRetained)
	tree := filepath.Join(f.Workspace(), "tree")
	f.must(f.Register("w", run.Registration{Task: "a", Adapter: "command", Substrate: run.Process, Worktree: tree, Branch: "aisync/r/w", Owner: "m"}))
	f.must(f.Finish(run.RunCancelled, "enough"))
	f.must(f.Move("w", run.Move{To: run.CompletedRetained, By: run.BySupervisor, Reason: "kept"}))
	if why, err := Holder(f.Run, tree); err != nil || !strings.Contains(why, "is completed-retained") {
		t.Errorf("%q, %v", why, err)
	}
}
