package supervise

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/schema/spec"
)

// writer is a task that writes below globs, and fails where another one works.
func writer(id string, globs ...string) spec.RunTask {
	t := sh(id, "test \"$AISYNC_TASK_SEAT\" = \"$SEAT\" && mkdir alone && sleep 0.1 && rmdir alone")
	t.Write = globs
	return t
}

// Two tasks that may write one path run one after the other, also without a ledger.
func TestTasksOfOnePathRunOneAfterTheOther(t *testing.T) {
	r := begun(t, settings(func(s *spec.RunSettings) { s.MaxAttempts = 1 }), nil, writer("a", "src"), writer("b", "src/x/**"), writer("c", "src/**", "docs"))
	if out := worked(t, supervisor(r)); out.Status != run.RunCompleted {
		t.Errorf("%+v", out)
	}
}

// A worker takes what its task writes before it starts, and gives it back once.
func TestWorkerHoldsWhatItsTaskWrites(t *testing.T) {
	r := begun(t, settings(nil), nil, writer("a", "src"), sh("b", "test -z \"$AISYNC_TASK_SEAT\""), writer("held", "docs"))
	t.Setenv("SEAT", "task")
	var said []string
	s := supervisor(r)
	s.Hold = func(task string, globs []string) (string, func(), error) {
		if task == "held" {
			return "", nil, errors.New("docs is claimed by codex")
		}
		said = append(said, task+" takes "+strings.Join(globs, " "))
		return "task", func() { said = append(said, task+" gives back") }, nil
	}
	out, err := s.Work(context.Background())
	if err != nil || out.Status != run.RunActive || !strings.Contains(out.Reason, "task held waits: docs is claimed by codex") {
		t.Errorf("%+v %v", out, err)
	}
	if want := []string{"a takes src", "a gives back"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
	if n := len(state(t, r).Workers); n != 2 {
		t.Errorf("%d workers", n)
	}
}

// A person's claim of a task is refused while one that meets it is at work.
func TestClaimBesideOneThatMeetsIt(t *testing.T) {
	r := begun(t, settings(nil), nil, writer("a", "src/*.go"), writer("b", "src/x.go"), writer("c", "docs"))
	for _, w := range []string{"one", "two"} {
		if err := r.Register(w, run.Registration{Adapter: "manual", Substrate: run.External}); err != nil {
			t.Fatal(err)
		}
	}
	token, err := r.Claim("a", "one", 0)
	if err != nil {
		t.Fatal(err)
	}
	var no *run.Refusal
	if _, err := r.Claim("b", "two", 0); !errors.As(err, &no) || no.Rule != "one-writer" {
		t.Errorf("b: %v", err)
	}
	if err := r.Release(token, "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Claim("b", "two", 0); err != nil {
		t.Error(err)
	}
}

// A supervisor takes what a worker writes that the one before has left.
func TestSupervisorTakesOverWhatWorkersWrite(t *testing.T) {
	r := begun(t, settings(nil), nil, writer("a", "src"))
	s := supervisor(r)
	s.begin()
	var said []string
	s.Hold = func(task string, _ []string) (string, func(), error) {
		said = append(said, task)
		return "task", func() { said = append(said, "end") }, nil
	}
	st := state(t, r)
	st.Workers = append(st.Workers, run.Worker{ID: "a.1", Registration: run.Registration{Task: "a"}, Retention: run.Active})
	s.adopt(st)
	s.adopt(st)
	s.giveBack(nil)
	if want := []string{"a", "end"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}
