package supervise

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// bounded gives a task a second.
func bounded(t spec.RunTask) spec.RunTask {
	t.TimeoutSeconds = 1
	return t
}

// ready waits until a worker is recorded as ready.
func ready(t *testing.T, r *run.Run, id string) {
	t.Helper()
	until(t, id+" is ready", func() bool {
		w := state(t, r).Worker(id)
		return w != nil && w.Handle != nil && w.Ready.Wall != 0
	})
}

func observed(t *testing.T, r *run.Run, id string) worker.Observation {
	t.Helper()
	o, err := worker.Observe(process.System(), Folder(r, id), state(t, r).Worker(id).Owner)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTimeoutFailsAttempt(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"that ends when it is asked to", "echo $AISYNC_WORKER >> all; exec sleep 60"},
		{"that ignores it", "trap '' TERM; echo $AISYNC_WORKER >> all; while true; do sleep 0.1; done"},
		{"that then ends with code 0", "trap 'exit 0' TERM; echo $AISYNC_WORKER >> all; while true; do sleep 0.1; done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := begun(t, settings(nil), nil, bounded(sh("slow", c.script)), bounded(sh("quick", "true")), sh("unbounded", "sleep 1.5"))
			out := worked(t, supervisor(r))
			if out.Status != run.RunFailed || !strings.Contains(out.Reason, "slow") {
				t.Errorf("ended %+v", out)
			}
			st := state(t, r)
			if task := st.Task("slow"); task.Failures != 2 || task.Reason != "not finished after 1s" {
				t.Errorf("slow: %d failures: %s", task.Failures, task.Reason)
			}
			for _, id := range []string{"quick", "unbounded"} {
				if task := st.Task(id); task.Status != run.TaskDone {
					t.Errorf("%s is %s: %s", id, task.Status, task.Reason)
				}
			}
			if got := lines(t, filepath.Join(r.Workspace(), "all")); !slices.Equal(got, []string{"slow.1", "slow.2"}) {
				t.Errorf("tried by %v", got)
			}
			for _, id := range []string{"slow.1", "slow.2"} {
				if o := observed(t, r, id); !o.Gone() || o.Held || st.Worker(id).Retention != run.CompletedRetained {
					t.Errorf("%s: %s, %s", id, o, st.Worker(id).Retention)
				}
			}
		})
	}
}

// The time counts from the claim, with any supervisor, and by the clock of the boot.
func TestTimeoutOutlivesSupervisor(t *testing.T) {
	slow := sh("slow", "test -e again || { touch again; exec sleep 60; }")
	slow.TimeoutSeconds = 3600
	var clock at
	r := begun(t, settings(nil), clock.now, slow)
	cmd := killable(t, work, r)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready(t, r, "slow.1")
	if err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, c := range []struct {
		wall, up time.Duration
		gone     bool
	}{{0, 0, false}, {10 * time.Hour, 0, false}, {0, 59 * time.Minute, false}, {-10 * time.Hour, 61 * time.Minute, true}} {
		clock.set(c.wall, c.up)
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		if c.gone {
			cancel()
			ctx, cancel = context.WithTimeout(context.Background(), 30*time.Second)
		}
		_, err := supervisor(r).Work(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if got := observed(t, r, "slow.1").Gone(); got != c.gone {
			t.Fatalf("clock off by %s, %s later: it is gone: %v", c.wall, c.up, got)
		}
	}
	if task := state(t, r).Task("slow"); task.Status != run.TaskDone || task.Attempts != 2 || task.Failures != 1 {
		t.Errorf("slow is %s after %d attempts, %d failures: %s", task.Status, task.Attempts, task.Failures, task.Reason)
	}
}

// A supervisor that is killed between the request and the signal leaves a worker
// that the next one ends for the recorded reason.
func TestRequestOutlivesSupervisor(t *testing.T) {
	r := begun(t, settings(func(s *spec.RunSettings) { s.MaxAttempts = 1 }), nil, sh("a", "exec sleep 60"))
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = supervisor(r).Work(ctx) })
	ready(t, r, "a.1")
	cancel()
	wait.Wait()
	if err := worker.Ask(Folder(r, "a.1"), state(t, r).Worker("a.1").Owner, "not finished after 1s", false); err != nil {
		t.Fatal(err)
	}
	if out := worked(t, supervisor(r)); out.Status != run.RunFailed || state(t, r).Task("a").Reason != "not finished after 1s" {
		t.Errorf("ended %+v: %s", out, state(t, r).Task("a").Reason)
	}
}

func TestStopEndsWorkerForGood(t *testing.T) {
	for _, c := range []struct {
		name, script string
		supervised   bool
	}{
		{"with a supervisor", "exec sleep 60", true},
		{"without one", "exec sleep 60", false},
		{"that ends with code 0", "trap 'exit 0' TERM; while true; do sleep 0.1; done", true},
		{"that ignores it", "trap '' TERM; while true; do sleep 0.1; done", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := begun(t, settings(nil), nil, sh("a", "echo $AISYNC_WORKER >> all; "+c.script), sh("b", "while ! test -e go; do sleep 0.02; done"), sh("after", "touch never", "a"))
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			defer cancel()
			var out Outcome
			var wait sync.WaitGroup
			begin := func() { wait.Go(func() { out, _ = supervisor(r).Work(ctx) }) }
			begin()
			ready(t, r, "a.1")
			ready(t, r, "b.1")
			if !c.supervised {
				cancel()
				wait.Wait()
				ctx, cancel = context.WithTimeout(context.Background(), 60*time.Second)
				defer cancel()
			}
			other, err := open(r.Workspace(), r.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			stopper := Supervisor{Run: other, Table: process.System()}
			done, err := stopper.Stop(context.Background(), []string{"a.1", "b.9"}, "it hangs")
			if err != nil || !done[0].Done || done[0].Task != "a" || done[0].Error != "" || done[1].Done || !strings.Contains(done[1].Error, `no worker "b.9"`) {
				t.Errorf("%+v, %v", done, err)
			}
			if o := observed(t, r, "a.1"); !o.Gone() {
				t.Errorf("it is %s", o)
			}
			if !c.supervised {
				begin()
			}
			if err := os.WriteFile(filepath.Join(r.Workspace(), "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			wait.Wait()
			if out.Status != run.RunActive || !strings.Contains(out.Reason, "task a was stopped: it hangs; to do it by hand: aisync run claim a ") {
				t.Errorf("ended %+v", out)
			}
			st := state(t, r)
			if a := st.Task("a"); a.Attempts != 1 || a.Held() || a.Reason != "stopped: it hangs" || a.Stopped != "it hangs" || st.Worker("a.1").Retention != run.CompletedRetained {
				t.Errorf("a: %+v, worker %s: %+v", a, st.Worker("a.1").Retention, st.Worker("a.1").Moves)
			}
			if st.Task("b").Status != run.TaskDone || st.Worker("b.1").Retention != run.CompletedRetained {
				t.Errorf("b is %s", st.Task("b").Status)
			}
			if got := lines(t, filepath.Join(r.Workspace(), "all")); len(got) != 1 {
				t.Errorf("started by %v", got)
			}
			// A person may do it after all, or end the run.
			if err := r.Register("me", run.Registration{Adapter: "manual", Substrate: run.External}); err != nil {
				t.Fatal(err)
			}
			token, err := r.Claim("a", "me", 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Release(token, "not mine"); err != nil {
				t.Fatal(err)
			}
			if err := r.Finish(run.RunCancelled, "enough"); err != nil {
				t.Error(err)
			}
			if again, err := stopper.Stop(context.Background(), []string{"a.1", "me"}, "x"); err != nil || !strings.Contains(again[0].Error, "aisync run worker let-go a.1") || !strings.Contains(again[1].Error, "not started by aisync") {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// A worker that is registered and not started yet never runs.
func TestStopBeforeStart(t *testing.T) {
	r := begun(t, settings(func(s *spec.RunSettings) { s.ReadinessMS = 600_000 }), nil, sh("a", "touch never"))
	cmd := killable(t, begin, r)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	until(t, "it is registered", func() bool { return len(state(t, r).Workers) == 1 })
	done, err := (&Supervisor{Run: r, Table: process.System()}).Stop(context.Background(), []string{"a.1"}, "not now")
	if err != nil || !done[0].Done || done[0].Error != "" {
		t.Errorf("%+v, %v", done, err)
	}
	st := state(t, r)
	if a := st.Task("a"); a.Held() || a.Stopped != "not now" || st.Worker("a.1").Retention != run.SafeToClose {
		t.Errorf("a: %+v, worker %s: %+v", a, st.Worker("a.1").Retention, st.Worker("a.1").Moves)
	}
	w := st.Worker("a.1")
	if err := supervisor(r).Starter.Start(Folder(r, w.ID), *observed(t, r, w.ID).Job, nil); err != nil {
		t.Error(err)
	}
	time.Sleep(300 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(r.Workspace(), "never")); err == nil {
		t.Error("it has run")
	}
}

// A worker that ends by itself just before is recorded as it ended.
func TestStopAfterEndKeepsResult(t *testing.T) {
	task := sh("a", "echo it works")
	task.Evidence = []string{"output"}
	r := begun(t, settings(nil), nil, task)
	cmd := killable(t, begin, r)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	until(t, "it is registered", func() bool { return len(state(t, r).Workers) == 1 })
	if err := supervisor(r).Starter.Start(Folder(r, "a.1"), *observed(t, r, "a.1").Job, nil); err != nil {
		t.Fatal(err)
	}
	until(t, "it has ended", func() bool { return observed(t, r, "a.1").Gone() && observed(t, r, "a.1").Exit != nil })
	done, err := (&Supervisor{Run: r, Table: process.System()}).Stop(context.Background(), []string{"a.1"}, "too late")
	if err != nil || !done[0].Done || done[0].Error != "" {
		t.Errorf("%+v, %v", done, err)
	}
	if a := state(t, r).Task("a"); a.Status != run.TaskDone || a.Proof["output"] != 1 {
		t.Errorf("a is %s: %s", a.Status, a.Reason)
	}
}

func TestStopInTmux(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("a", "exec sleep 60"))
	s := planned(r, Plan{Adapter: "command", Substrate: worker.Tmux})
	s.Starter.Tmux, s.Starter.Session = tmuxOf(t), "aisync-r1"
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out = worked(t, s) })
	ready(t, r, "a.1")
	done, err := (&Supervisor{Run: r, Table: process.System()}).Stop(context.Background(), []string{"a.1"}, "it hangs")
	if err != nil || !done[0].Done {
		t.Errorf("%+v, %v", done, err)
	}
	wait.Wait()
	if out.Status != run.RunActive || !strings.Contains(out.Reason, "was stopped: it hangs") {
		t.Errorf("ended %+v", out)
	}
}

func TestStopAllCancelsRun(t *testing.T) {
	for _, supervised := range []bool{true, false} {
		var tasks []spec.RunTask
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			tasks = append(tasks, sh(id, "echo $AISYNC_TASK >> all; exec sleep 60"))
		}
		r := begun(t, settings(nil), nil, tasks...)
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		var out Outcome
		var wait sync.WaitGroup
		wait.Go(func() { out, _ = supervisor(r).Work(ctx) })
		for _, id := range []string{"a.1", "b.1", "c.1"} {
			ready(t, r, id)
		}
		if !supervised {
			cancel()
			wait.Wait()
		}
		other, err := open(r.Workspace(), r.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		done, err := (&Supervisor{Run: other, Table: process.System()}).StopAll(context.Background(), "the plan has changed")
		if err != nil || len(done) != 3 || slices.ContainsFunc(done, func(d Stopped) bool { return !d.Done }) {
			t.Errorf("%+v, %v", done, err)
		}
		wait.Wait()
		if st := state(t, r); st.Contract.Status != run.RunCancelled || st.Reason != "the plan has changed" {
			t.Errorf("the run is %s: %s", st.Contract.Status, st.Reason)
		}
		if supervised && out.Status != run.RunCancelled {
			t.Errorf("its supervisor ended %+v", out)
		}
		if got := lines(t, filepath.Join(r.Workspace(), "all")); len(got) != 3 {
			t.Errorf("started: %v", got)
		}
	}
}

// A claim of a person stays, and keeps the run from its end; supervisors start
// nothing meanwhile, and end the run when it is released.
func TestStopAllKeepsManualClaims(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("hand", "touch never"), sh("next", "touch never"))
	if err := r.Register("me", run.Registration{Adapter: "manual", Substrate: run.External}); err != nil {
		t.Fatal(err)
	}
	token, err := r.Claim("hand", "me", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Supervisor{Run: r, Table: process.System()}).StopAll(context.Background(), "enough"); err == nil || !strings.Contains(err.Error(), "open claims, of hand") {
		t.Errorf("%v", err)
	}
	if err := r.Release(token, "given back"); err != nil {
		t.Fatal(err)
	}
	if out := worked(t, supervisor(r)); out.Status != run.RunCancelled || out.Reason != "enough" {
		t.Errorf("ended %+v", out)
	}
	if _, err := os.Stat(filepath.Join(r.Workspace(), "never")); err == nil {
		t.Error("a task was started")
	}
}

// A process that only has a worker's number is not ended.
func TestStopEndsOnlyProvedWorkers(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("a", "exec sleep 60"))
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = supervisor(r).Work(ctx) })
	ready(t, r, "a.1")
	cancel()
	wait.Wait()
	ticket := filepath.Join(Folder(r, "a.1"), "ticket.json")
	text, err := os.ReadFile(ticket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ticket, []byte(strings.Replace(string(text), `"start": `, `"start": 1`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	done, err := (&Supervisor{Run: r, Table: process.System()}).Stop(context.Background(), []string{"a.1"}, "x")
	if err != nil || done[0].Done || !strings.Contains(done[0].Error, "not proved to be ours") {
		t.Errorf("%+v, %v", done, err)
	}
	if err := os.WriteFile(ticket, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := observed(t, r, "a.1"); o.State != worker.Running || o.Stop != nil {
		t.Errorf("it is %s, %+v", o, o.Stop)
	}
}
