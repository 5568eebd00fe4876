package record

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// opened returns the runs of an empty folder, and how to open them again.
func opened(t *testing.T) (*run.Store, func() (*run.Store, error)) {
	t.Helper()
	dir := t.TempDir()
	s, _, err := run.Init(dir, run.Options{Check: schema.CheckRun})
	if err != nil {
		t.Fatal(err)
	}
	return s, func() (*run.Store, error) { return run.Open(dir, run.Options{Check: schema.CheckRun}) }
}

var work = Work{
	Goal: "an agent at work", Task: spec.RunTask{ID: "session", Goal: "whatever it is asked"}, Worker: "primary",
	Register: run.Registration{Adapter: "claude"},
}

// only returns the state of the one run that is not "first".
func only(t *testing.T, s *run.Store) *run.State {
	t.Helper()
	ids, _, err := s.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id == "first" {
			continue
		}
		r, err := s.Run(id)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		st, err := r.State()
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	t.Fatalf("nothing was recorded: %v", ids)
	return nil
}

func TestRecordingIsBesideActiveRun(t *testing.T) {
	zero, three := 0, 3
	tests := map[string]struct {
		out       Outcome
		task, run string
		pieces    int
	}{
		"done": {Outcome{Status: run.RunCompleted, Evidence: []run.Evidence{{Kind: "command", Command: "go test", ExitCode: &zero}}, Outputs: []Output{{"report", []byte("all is well\n")}}},
			run.TaskDone, run.RunCompleted, 2},
		"failed": {Outcome{Status: run.RunFailed, Reason: "it ended with code 3", Evidence: []run.Evidence{{Kind: "command", Command: "claude", ExitCode: &three}}},
			run.TaskPending, run.RunFailed, 1},
		"given back": {Outcome{Status: run.RunCancelled, Reason: "it was interrupted"}, run.TaskPending, run.RunCancelled, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, open := opened(t)
			c, err := s.Config()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Start(run.Plan{ID: "first", Goal: "port it", Settings: c.Settings}); err != nil {
				t.Fatal(err)
			}
			if err := Begin(open, work).End(test.out); err != nil {
				t.Fatal(err)
			}
			st := only(t, s)
			w := st.Worker("primary")
			if st.Contract.Status != test.run || st.Reason != test.out.Reason || st.Task("session").Status != test.task || st.Pieces != test.pieces {
				t.Errorf("run %s (%s), task %s, %d pieces", st.Contract.Status, st.Reason, st.Task("session").Status, st.Pieces)
			}
			if w == nil || w.Substrate != run.External || w.Retention != run.CompletedRetained || w.Ready == (clock.Moment{}) {
				t.Errorf("worker %+v", w)
			}
			if active, err := s.Active(); err != nil || active != "first" {
				t.Errorf("active is %q, %v", active, err)
			}
		})
	}
}

func TestRecordingRenewsClaim(t *testing.T) {
	s, open := opened(t)
	config := `{"schemaVersion": 1, "runtime": {"leaseDurationSeconds": 30, "heartbeatTimeoutSeconds": 5}}`
	if err := os.WriteFile(filepath.Join(s.Path, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r, token, err := begin(open, work)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if task := only(t, s).Task("session"); !task.Held() || task.Claim.Token != token || task.Claim.Lease.Seconds() != 30 {
		t.Errorf("%+v", task)
	}
}

func TestRecordingFailureKeepsWork(t *testing.T) {
	s, open := opened(t)
	if err := os.WriteFile(filepath.Join(s.Path, "config.json"), []byte(`{"schemaVersion": 9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Begin(open, work).End(Outcome{Status: run.RunCompleted}); err == nil {
		t.Error("a config of another version was no error")
	}
	gone := errors.New("it cannot be opened")
	if err := Begin(func() (*run.Store, error) { return nil, gone }, work).End(Outcome{Status: run.RunCompleted}); !errors.Is(err, gone) {
		t.Error(err)
	}
	if ids, _, err := s.Runs(); err != nil || len(ids) > 0 {
		t.Error(ids, err)
	}
}
