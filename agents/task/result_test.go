package task

import (
	"context"
	"errors"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// A done task has used its approval, also where another process completes it; a
// failed one has not.
func TestOnlyDoneTasksUseTheirApproval(t *testing.T) {
	w := newWorld(t)
	var ended []string
	with := func(r *Runner) {
		r.Queue.EndApproval = func(_ context.Context, digest string) error {
			ended = append(ended, digest)
			return errors.New("the state is locked")
		}
	}
	w.queued(spec.Task{ID: "good", Steps: runs("echo x >src/new.txt"), Write: []string{"src/*"}})
	if r := w.once(with); !r.OK() || len(ended) != 1 {
		t.Errorf("%s: %d approvals have ended, want 1", r.Line(), len(ended))
	}
	w.queued(spec.Task{ID: "bad", Steps: runs("exit 1"), Write: []string{"src/*"}})
	if r := w.once(with); r.OK() || len(ended) != 1 {
		t.Errorf("%s: %d approvals have ended, want 1", r.Line(), len(ended))
	}
	w.queued(spec.Task{ID: "late", Steps: runs("echo y >src/new.txt"), Write: []string{"src/*"}})
	w.dieAt(stageDecided)
	r := runnerAt(w.dir)
	with(&r)
	if err := r.recoverQueue(t); err != nil {
		t.Fatal(err)
	}
	if !w.in(Done, "late") || len(ended) != 2 {
		t.Errorf("%d approvals have ended, want 2", len(ended))
	}
}
