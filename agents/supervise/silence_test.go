package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// A live worker that gives no sign of life is reported, once, and keeps its task.
func TestSilentWorkerIsReported(t *testing.T) {
	for _, c := range []struct {
		name, script string
		silent       bool
	}{
		{"silent", "while ! test -e go; do sleep 0.02; done", true},
		{"printing", "while ! test -e go; do echo at work; sleep 0.02; done", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := begun(t, settings(func(s *spec.RunSettings) { s.HeartbeatMS = 600 }), nil, sh("a", c.script))
			s := supervisor(r)
			var mu sync.Mutex
			var said []string
			s.Say = func(text string) {
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(text, "no heartbeat") {
					said = append(said, text)
				}
			}
			var wait sync.WaitGroup
			wait.Go(func() { worked(t, s) })
			ready(t, r, "a.1")
			time.Sleep(1500 * time.Millisecond)
			st := state(t, r)
			w := st.Worker("a.1")
			if got := Silence(r, st, w) > 0; got != c.silent {
				t.Errorf("silent: %v", got)
			}
			if task := st.Task("a"); w.Retention != run.Active || task.Attempts != 1 || task.Claim.Renewed == task.Claim.Acquired {
				t.Errorf("worker %s, task after %d attempts: %+v", w.Retention, task.Attempts, task.Claim)
			}
			if o := observed(t, r, "a.1"); o.State != worker.Running {
				t.Errorf("it is %s", o)
			}
			if c.silent { // its heartbeat ends the silence
				if err := r.Renew(st.Task("a").Claim.Token, 0); err != nil {
					t.Error(err)
				}
				if st := state(t, r); Silence(r, st, st.Worker("a.1")) > 0 {
					t.Error("silent after its heartbeat")
				}
			}
			if err := os.WriteFile(filepath.Join(r.Workspace(), "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			wait.Wait()
			mu.Lock()
			defer mu.Unlock()
			if c.silent && (len(said) != 1 || !strings.Contains(said[0], "aisync run stop a.1 --run r1")) || !c.silent && len(said) > 0 {
				t.Errorf("said: %q", said)
			}
			if state(t, r).Task("a").Status != run.TaskDone {
				t.Error("it was not done")
			}
		})
	}
}

// A worker whose keeper is gone while its command runs cannot be proved to live:
// without a heartbeat it is stale, and its task is still not given to another.
func TestUnprovedSilentWorkerIsStale(t *testing.T) {
	r := begun(t, settings(func(s *spec.RunSettings) { s.HeartbeatMS = 600 }), nil, sh("a", "echo $$ >> all; exec sleep 60"))
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out = worked(t, supervisor(r)) })
	ready(t, r, "a.1")
	if err := unix.Kill(state(t, r).Worker("a.1").Handle.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	st := state(t, r)
	if w := st.Worker("a.1"); out.Status != run.RunActive || w.Retention != run.StaleRegistry || !strings.Contains(w.Moves[0].Observed, "without a heartbeat for") {
		t.Errorf("ended %+v, worker %s: %+v", out, w.Retention, w.Moves)
	}
	if task := st.Task("a"); !task.Held() || task.Attempts != 1 || len(lines(t, filepath.Join(r.Workspace(), "all"))) != 1 {
		t.Errorf("task: %+v", task)
	}
	for _, pid := range lines(t, filepath.Join(r.Workspace(), "all")) {
		killPID(t, pid)
	}
}

func killPID(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err == nil {
		err = unix.Kill(n, unix.SIGKILL)
	}
	if err != nil {
		t.Error(err)
	}
}
