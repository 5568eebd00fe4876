package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// The tests' program is keeper and supervisor too, so that they can be killed.
const (
	keep  = "__keep"
	work  = "__supervise"
	begin = "__register" // registers one worker, and stops before it starts it
)

func TestMain(m *testing.M) {
	if sandbox.IsInside(os.Args) {
		syscall.Exit(sandbox.Main(os.Args)) // os.Exit waits for a second where the race detector is
	}
	if len(os.Args) == 4 {
		switch os.Args[1] {
		case keep:
			worker.Grace = 200 * time.Millisecond
			os.Exit(worker.Keep(os.Args[2], os.Args[3]))
		case work, begin:
			os.Exit(asSupervisor(os.Args[1], os.Args[2], os.Args[3]))
		}
	}
	os.Exit(m.Run())
}

func asSupervisor(what, workspace, id string) int {
	r, err := open(workspace, id, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := supervisor(r)
	if what == begin {
		s.self, _ = worker.Self(s.Table)
		s.begin()
		if err := r.Change(s.spawn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("registered")
		select {}
	}
	out, err := s.Work(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(out.Status, out.Reason)
	return 0
}

func options(clock clock.Clock) run.Options {
	return run.Options{Check: func(string, string, []byte) error { return nil }, Clock: clock}
}

func open(workspace, id string, clock clock.Clock) (*run.Run, error) {
	store, err := run.Open(workspace, options(clock))
	if err != nil {
		return nil, err
	}
	return store.Run(id)
}

func supervisor(r *run.Run) *Supervisor {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &Supervisor{
		Run: r, Table: process.System(), Poll: 20 * time.Millisecond,
		Starter: worker.Starter{Keeper: []string{self, keep}, Environ: os.Environ()},
		Plan: func(t run.Task, _ *run.State) (Plan, error) {
			if len(t.Command) == 0 {
				return Plan{}, errors.New("it has no command")
			}
			p := Plan{Adapter: "command", Substrate: worker.Process, Command: t.Command}
			if t.Sandbox {
				way, err := sandbox.Find(context.Background())
				if err != nil {
					return Plan{}, err
				}
				p.Confined = &worker.Confined{Box: sandbox.Box{Way: way, Network: t.Network}}
			}
			return p, nil
		},
	}
}

// settings are quick ones.
func settings(change func(*spec.RunSettings)) spec.RunSettings {
	s := spec.RunSettings{
		Adapter: "command", Substrate: "process", Strategy: "graph", Depth: "standard", MaxWorkers: 3, MaxAttempts: 2,
		ReadinessMS: 5000, LeaseMS: 60_000, HeartbeatMS: 20_000, RequireEvidence: true, CompletedDefault: "completed-retained", RetainLogsDays: 7, WorktreeRoot: "/",
	}
	if change != nil {
		change(&s)
	}
	return s
}

// begun starts a run of tasks in a new workspace.
func begun(t *testing.T, set spec.RunSettings, clock clock.Clock, tasks ...spec.RunTask) *run.Run {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := run.Init(dir, options(clock))
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Start(run.Plan{ID: "r1", Goal: "to be tested", Tasks: tasks, Settings: set})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endWorkers(t, r) })
	return r
}

// endWorkers ends what a test has left, so that its folder can go.
func endWorkers(t *testing.T, r *run.Run) {
	st, err := r.State()
	if err != nil {
		t.Error(err)
		return
	}
	for _, w := range st.Workers {
		if o, err := worker.Observe(process.System(), Folder(r, w.ID), w.Owner); err == nil && o.State == worker.Running {
			_ = worker.End(context.Background(), process.System(), Folder(r, w.ID), w.Owner)
		}
	}
}

func sh(id, script string, after ...string) spec.RunTask {
	return spec.RunTask{ID: id, Adapter: "command", Command: []string{"sh", "-c", script}, DependsOn: after}
}

func worked(t *testing.T, s *Supervisor) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	out, err := s.Work(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("it did not stop by itself: %+v", out)
	}
	return out
}

func state(t *testing.T, r *run.Run) *run.State {
	t.Helper()
	st, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

func TestGraphRunsInOrder(t *testing.T) {
	say := "echo $AISYNC_TASK >> order; test -n \"$AISYNC_CLAIM\" && test $AISYNC_RUN = r1"
	r := begun(t, settings(nil), nil, sh("d", say, "b", "c"), sh("b", say, "a"), sh("c", say, "a"), sh("a", say))
	if out := worked(t, supervisor(r)); out.Status != run.RunCompleted {
		t.Fatalf("ended %+v", out)
	}
	got := lines(t, filepath.Join(r.Workspace(), "order"))
	if len(got) != 4 || got[0] != "a" || got[3] != "d" {
		t.Errorf("worked in the order %v", got)
	}
	st := state(t, r)
	for _, w := range st.Workers {
		if w.Retention != run.CompletedRetained || w.Handle == nil || w.Handle.PID == 0 {
			t.Errorf("worker %s is %s, %+v", w.ID, w.Retention, w.Handle)
		}
	}
	for _, task := range st.Tasks {
		if task.Attempts != 1 || task.Proof["command"] != 1 {
			t.Errorf("task %s: %d attempts, proof %v", task.ID, task.Attempts, task.Proof)
		}
	}
	if out := worked(t, supervisor(r)); out.Status != run.RunCompleted {
		t.Errorf("supervised again: %+v", out)
	}
}

// Each worker stays until three have met, however slowly they come; a fourth
// would have the time of a blink to come too.
func TestSupervisorHonoursMaxWorkers(t *testing.T) {
	const stay = `mkdir -p at; touch at/$$
for n in $(seq 300); do
	[ -e met ] && break
	[ $(ls at | wc -l) -lt 3 ] || touch met
	sleep 0.05
done
ls at | wc -l >>many; sleep 0.05; rm at/$$`
	var tasks []spec.RunTask
	for i := range 8 {
		tasks = append(tasks, sh(fmt.Sprint("t", i), stay))
	}
	r := begun(t, settings(nil), nil, tasks...)
	worked(t, supervisor(r))
	many := lines(t, filepath.Join(r.Workspace(), "many"))
	if most := slices.Max(many); len(many) != 8 || most > "3" {
		t.Errorf("at most %s at once, of 3, in %v", most, many)
	}
	if _, err := os.Stat(filepath.Join(r.Workspace(), "met")); err != nil {
		t.Errorf("three never met: %v", err)
	}
}

func TestFailedTaskIsRetriedThenFailed(t *testing.T) {
	r := begun(t, settings(nil), nil,
		sh("flaky", "echo x >> flaky; test $(wc -l < flaky) = 2"),
		sh("hopeless", "echo x >> hopeless; exit 9"),
		sh("after", "touch after", "hopeless"),
		sh("beside", "touch beside", "flaky"))
	out := worked(t, supervisor(r))
	if out.Status != run.RunFailed || !strings.Contains(out.Reason, "hopeless") {
		t.Errorf("ended %+v", out)
	}
	for file, want := range map[string]int{"flaky": 2, "hopeless": 2} {
		if got := len(lines(t, filepath.Join(r.Workspace(), file))); got != want {
			t.Errorf("%s was tried %d times, want %d", file, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(r.Workspace(), "after")); err == nil {
		t.Error("what waits for a failed task was started")
	}
	if _, err := os.Stat(filepath.Join(r.Workspace(), "beside")); err != nil {
		t.Error("what does not wait for it was not")
	}
	if got := state(t, r).Task("hopeless").Reason; got != "ended with code 9" {
		t.Errorf("the reason is %q", got)
	}
}

func TestTaskNeedsItsEvidence(t *testing.T) {
	quiet, loud := sh("quiet", "true"), sh("loud", "echo it works")
	quiet.Evidence, loud.Evidence = []string{"artifact:binary"}, []string{"output:proof", "command:check"}
	r := begun(t, settings(func(s *spec.RunSettings) { s.MaxAttempts = 1 }), nil, quiet, loud)
	if out := worked(t, supervisor(r)); out.Status != run.RunFailed {
		t.Errorf("ended %+v", out)
	}
	st := state(t, r)
	if task := st.Task("quiet"); task.Status != run.TaskLost || !strings.Contains(task.Reason, "artifact:binary") {
		t.Errorf("quiet is %s: %s", task.Status, task.Reason)
	}
	if task := st.Task("loud"); task.Status != run.TaskDone || task.Proof["output:proof"] != 1 || task.Proof["command:check"] != 1 {
		t.Errorf("loud is %s: %v", task.Status, task.Proof)
	}
	all, _, err := r.EvidenceList()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if r.CheckEvidence(&e); e.Kind == "output" && (e.Now != "unchanged" || e.Size != int64(len("it works\n"))) {
			t.Errorf("the output is %+v", e)
		}
	}
}

func TestUnstartableWorkerIsFailedAttempt(t *testing.T) {
	r := begun(t, settings(nil), nil, spec.RunTask{ID: "planless", Goal: "x"}, spec.RunTask{ID: "missing", Adapter: "command", Command: []string{"no-such-program"}})
	if out := worked(t, supervisor(r)); out.Status != run.RunFailed {
		t.Errorf("ended %+v", out)
	}
	st := state(t, r)
	for id, why := range map[string]string{"planless": "it has no command", "missing": "no-such-program"} {
		if task := st.Task(id); task.Failures != 2 || !strings.Contains(task.Reason, why) {
			t.Errorf("%s: %d failures: %s", id, task.Failures, task.Reason)
		}
	}
}

func TestSupervisorsShareRun(t *testing.T) {
	var tasks []spec.RunTask
	for i := range 12 {
		tasks = append(tasks, sh(fmt.Sprint("t", i), "echo $AISYNC_TASK >> all"))
	}
	r := begun(t, settings(nil), nil, tasks...)
	var wait sync.WaitGroup
	for range 3 {
		other, err := open(r.Workspace(), r.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			if out, err := supervisor(other).Work(context.Background()); err != nil || out.Status != run.RunCompleted {
				t.Errorf("ended %+v, %v", out, err)
			}
		})
	}
	wait.Wait()
	once(t, r, len(tasks))
}

// once fails unless each of n tasks was done once, and each line of all is there once.
func once(t *testing.T, r *run.Run, n int) {
	t.Helper()
	got := lines(t, filepath.Join(r.Workspace(), "all"))
	slices.Sort(got)
	if len(got) != n || len(slices.Compact(slices.Clone(got))) != n {
		t.Errorf("%d tasks were done %d times: %v", n, len(got), got)
	}
	for _, task := range state(t, r).Tasks {
		if task.Status != run.TaskDone {
			t.Errorf("task %s is %s: %s", task.ID, task.Status, task.Reason)
		}
	}
}

// killable is a supervisor in a separate process.
func killable(t *testing.T, what string, r *run.Run) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, what, r.Workspace(), r.ID)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	return cmd
}

func TestSupervisorAdoptsLiveWorkers(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("long", "echo $AISYNC_TASK >> all; while ! test -e go; do sleep 0.02; done"), sh("next", "echo $AISYNC_TASK >> all", "long"))
	cmd := killable(t, work, r)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "it runs", func() bool { return len(lines(t, filepath.Join(r.Workspace(), "all"))) == 1 })
	if err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out, _ = supervisor(r).Work(context.Background()) })
	until(t, "it is adopted", func() bool { return state(t, r).Workers[0].Handle != nil && state(t, r).Workers[0].Ready.Wall != 0 })
	if err := os.WriteFile(filepath.Join(r.Workspace(), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if out.Status != run.RunCompleted || state(t, r).Task("long").Attempts != 1 {
		t.Errorf("ended %+v, %d attempts", out, state(t, r).Task("long").Attempts)
	}
	once(t, r, 2)
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestOrphanedStartIsCalledOff(t *testing.T) {
	r := begun(t, settings(func(s *spec.RunSettings) { s.ReadinessMS = 600_000 }), nil, sh("a", "echo $AISYNC_TASK >> all"))
	cmd := killable(t, begin, r)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "it is registered", func() bool { return len(state(t, r).Workers) == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if out := worked(t, supervisor(r)); out.Status != run.RunCompleted {
		t.Errorf("ended %+v", out)
	}
	once(t, r, 1)
	st := state(t, r)
	if w := st.Workers[0]; w.Retention != run.SafeToClose || !strings.Contains(w.Moves[0].Reason, orphaned) || st.Task("a").Failures != 0 {
		t.Errorf("the first worker is %s: %+v; %d failures", w.Retention, w.Moves, st.Task("a").Failures)
	}
}

func TestKilledWorkerIsFailedAttempt(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("a", "echo $$ >> pids; test $(wc -l < pids) = 2 || exec sleep 60"))
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out, _ = supervisor(r).Work(context.Background()) })
	until(t, "it runs", func() bool { return len(state(t, r).Workers) > 0 && state(t, r).Workers[0].Ready.Wall != 0 })
	until(t, "its command runs", func() bool {
		text, _ := os.ReadFile(filepath.Join(r.Workspace(), "pids"))
		return len(text) > 0
	})
	w := state(t, r).Workers[0]
	// The keeper's session: itself, and with it the group of its command.
	pid := lines(t, filepath.Join(r.Workspace(), "pids"))[0]
	for _, target := range []string{fmt.Sprint(w.Handle.PID), pid} {
		if err := exec.Command("kill", "-9", target).Run(); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
	st := state(t, r)
	if out.Status != run.RunCompleted || st.Task("a").Attempts != 2 || st.Workers[0].Retention != run.StaleRegistry {
		t.Errorf("ended %+v after %d attempts, the first worker is %s", out, st.Task("a").Attempts, st.Workers[0].Retention)
	}
}

func TestTaskOfLiveWorkerIsNotRestarted(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("a", "echo $AISYNC_TASK >> all; while ! test -e go; do sleep 0.02; done"))
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out = worked(t, supervisor(r)) })
	until(t, "it runs", func() bool { return len(state(t, r).Workers) > 0 && state(t, r).Workers[0].Ready.Wall != 0 })
	if err := r.Release(state(t, r).Task("a").Claim.Token, "a person took it"); err != nil {
		t.Fatal(err)
	}
	wait.Wait() // nothing can proceed
	if out.Status != run.RunActive || !strings.Contains(out.Reason, "may still live") {
		t.Errorf("ended %+v", out)
	}
	if st := state(t, r); len(st.Workers) != 1 || st.Workers[0].Retention != run.StaleRegistry {
		t.Errorf("workers: %+v", st.Workers)
	}
	if err := os.WriteFile(filepath.Join(r.Workspace(), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "it is gone", func() bool {
		w := state(t, r).Workers[0]
		o, err := worker.Observe(process.System(), Folder(r, w.ID), w.Owner)
		return err == nil && o.Gone() && !o.Held
	})
	if out := worked(t, supervisor(r)); out.Status != run.RunCompleted || state(t, r).Task("a").Attempts != 2 {
		t.Errorf("ended %+v", out)
	}
}

func TestDoneLiveWorkerIsRetained(t *testing.T) {
	r := begun(t, settings(func(s *spec.RunSettings) { s.RequireEvidence = false }), nil, sh("a", "echo $AISYNC_CLAIM > token; exec sleep 60"))
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out = worked(t, supervisor(r)) })
	until(t, "it runs", func() bool { return len(lines(t, filepath.Join(r.Workspace(), "token"))) == 1 })
	if err := r.Complete(lines(t, filepath.Join(r.Workspace(), "token"))[0]); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	st := state(t, r)
	w := st.Workers[0]
	o, err := worker.Observe(process.System(), Folder(r, w.ID), w.Owner)
	if err != nil || out.Status != run.RunCompleted || w.Retention != run.CompletedRetained || o.State != worker.Running {
		t.Errorf("ended %+v; the worker is %s and %s, %v", out, w.Retention, o, err)
	}
}

func TestStopKeepsWorkers(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("a", "sleep 60"))
	ctx, cancel := context.WithCancel(context.Background())
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out, _ = supervisor(r).Work(ctx) })
	until(t, "it runs", func() bool { return len(state(t, r).Workers) > 0 && state(t, r).Workers[0].Ready.Wall != 0 })
	cancel()
	wait.Wait()
	w := state(t, r).Workers[0]
	if o, err := worker.Observe(process.System(), Folder(r, w.ID), w.Owner); err != nil || o.State != worker.Running || out.Status != run.RunActive {
		t.Errorf("ended %+v, its worker is %s, %v", out, o, err)
	}
}
