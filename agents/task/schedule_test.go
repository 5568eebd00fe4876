package task

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/schema/spec"
)

// events returns the types of a task's events, without those of supervisors and
// of retention, and its state.
func (w *world) events(id string) (types []string, t *run.Task) {
	w.Helper()
	store, err := run.OpenTasks(filepath.Join(w.repo, "tasks"), clock.Now)
	if err != nil {
		w.Fatal(err)
	}
	r, err := store.Task(id, "g", 1, false)
	if err != nil {
		w.Fatal(err)
	}
	defer r.Close()
	st, err := r.Replay(func(e run.Event) error {
		if !slices.Contains([]string{run.SupervisorJoined, run.SupervisorLeft, run.WorkerMoved, run.WorkerHeartbeat, run.TaskAdded}, e.Type) {
			types = append(types, e.Type)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return types, st.Task(id)
}

// The events of a task tell its attempts, and its lease is there before its file
// is renamed. A queue makes no folder of runs.
func TestEventsTellAttempts(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Retries: 1, Steps: runs("echo x >src/x")})
	w.dieAt("step s1")
	r := runnerAt(w.dir)
	leased := false
	r.Reached = func(stage string) {
		if stage == stageClaimed {
			_, task := w.events("t1")
			leased = task.Held() && task.Claim.Worker == "t1.2" && !w.in(Queued, "t1")
		}
	}
	if report, err := r.Once(t.Context(), "core"); err != nil || !report.OK() || report.Attempt != 2 || !leased {
		t.Fatalf("%+v, %v; leased: %t", report, err, leased)
	}
	types, task := w.events("t1")
	attempt := []string{run.WorkerRegistered, run.TaskClaimed, run.WorkerStarted, run.WorkerReady}
	want := slices.Concat([]string{run.RunCreated}, attempt, []string{run.EvidenceAdded, run.TaskFailed}, attempt, []string{run.EvidenceAdded, run.TaskCompleted, run.RunFinished})
	if diff := cmp.Diff(want, types); diff != "" || task.Failures != 1 || !strings.Contains(w.read("repo/tasks/runs/t1/events.jsonl"), `died at stage \"step s1\"`) {
		t.Errorf("%+v (- want, + got):\n%s", task, diff)
	}
	if _, err := os.Lstat(filepath.Join(w.repo, run.Dir)); err == nil {
		t.Errorf("%s was made", run.Dir)
	}
}

// A task that failed and is put back begins anew; the events of its earlier
// attempts stay.
func TestRetryBeginsNewEvents(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Retries: 3, Steps: runs("exit 3")})
	if r := w.once(); r.Kind != "step" {
		t.Fatalf("%+v", r)
	}
	if types, task := w.events("t1"); !slices.Contains(types, run.RunFinished) || task.Failures != 1 || !strings.Contains(task.Reason, "step: step s1: exit 3: exit code 3") {
		t.Errorf("%q, %+v", types, task)
	}
	q := w.queue()
	if _, err := q.Retry("t1", false, process.System()); err != nil {
		t.Fatal(err)
	}
	if r := w.once(); r.Attempt != 1 {
		t.Errorf("%+v", r)
	}
	for name, want := range map[string]int{"events-*.jsonl": 1, "events.jsonl": 1, "workers-*": 1, "workers/t1.1": 1} {
		if found, err := filepath.Glob(filepath.Join(q.Runs("t1"), name)); err != nil || len(found) != want {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
}

// A file in running/ whose process has no lease was claimed by another program:
// it stays while that lives, and counts as a failed attempt when it has died.
func TestForeignExecutor(t *testing.T) {
	w := newWorld(t)
	q := w.queue()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	p, err := process.System().Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	w.queued(spec.Task{Steps: runs("echo x >src/x")})
	name := claimName("t1.yaml", Claimant{q.Self.Host, p.PID, p.Start})
	if err := os.MkdirAll(q.Folder("core", Running), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(q.Folder("core", Queued), "t1.yaml"), filepath.Join(q.Folder("core", Running), name)); err != nil {
		t.Fatal(err)
	}
	if report, err := runnerAt(w.dir).Once(t.Context(), "core"); report != nil || !errors.Is(err, ErrNone) {
		t.Fatalf("while it lives: %+v, %v", report, err)
	}
	if _, err := os.Lstat(filepath.Join(q.Folder("core", Running), name)); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if report, err := runnerAt(w.dir).Once(t.Context(), "core"); report != nil || !errors.Is(err, ErrNone) || !w.in(Failed, "t1") {
		t.Fatalf("when it has died: %+v, %v", report, err)
	}
	if types, task := w.events("t1"); task.Failures != 1 || task.Claim.Worker != fmt.Sprintf("%s.%d.1", q.Self.Host, p.PID) {
		t.Errorf("%q, %+v", types, task)
	}
}

// The lease counts, also where its holder has not renamed the file yet.
func TestLeaseIsTakenFirst(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Steps: runs("echo x >src/x")})
	r := runnerAt(w.dir)
	i, err := r.Queue.Find("t1")
	if err != nil {
		t.Fatal(err)
	}
	log, err := r.events(i, true)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	j := worker.Job{Worker: "t1.1", Marker: worker.NewMarker(), Substrate: worker.Process, Command: []string{"x"}, Dir: w.repo}
	folder := supervise.Folder(log, j.Worker)
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := worker.Prepare(folder, j); err != nil {
		t.Fatal(err)
	}
	token := ""
	err = log.Change(func(c *run.Change) (err error) {
		if err = c.Register(j.Worker, run.Registration{Task: "t1", Adapter: "command", Substrate: run.Process, Owner: j.Marker}); err == nil {
			token, err = c.Claim("t1", j.Worker, 0)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	self, err := worker.Take(folder, j.Marker)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := r.Once(t.Context(), "core"); report != nil || !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), fmt.Sprintf("process %d has its lease", os.Getpid())) || !w.in(Queued, "t1") {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := errors.Join(log.Release(token, "enough"), self.End(1, "")); err != nil {
		t.Fatal(err)
	}
	if report, err := r.Once(t.Context(), "core"); err != nil || !report.OK() || report.Attempt != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A lease that was taken on another machine, which shares the folder, counts until
// it is over: its process cannot be looked for here.
func TestLeaseOfOtherMachine(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Steps: runs("echo x >src/x")})
	for _, ago := range []time.Duration{0, time.Hour} {
		there := func() clock.Moment {
			return clock.Moment{Wall: time.Now().Add(-ago).UnixMilli(), Boot: "aaaaaaaa-bbbbbbbb", Up: 1}
		}
		store, err := run.OpenTasks(filepath.Join(w.repo, "tasks"), there)
		if err != nil {
			t.Fatal(err)
		}
		log, err := store.Task("t1", "g", 2, true)
		if err != nil {
			t.Fatal(err)
		}
		err = log.Change(func(c *run.Change) error {
			if err := c.Register("t1."+ago.String(), run.Registration{Task: "t1", Adapter: "command", Substrate: run.Process}); err != nil {
				return err
			}
			_, err := c.Claim("t1", "t1."+ago.String(), 0)
			return err
		})
		log.Close()
		if err != nil {
			t.Fatal(err)
		}
		report, err := runnerAt(w.dir).Once(t.Context(), "core")
		if ago == 0 && (!errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "a process of another machine has its lease until 20") || !w.in(Queued, "t1")) || ago > 0 && (err != nil || !report.OK()) {
			t.Errorf("%s ago: %+v, %v", ago, report, err)
		}
		if err := os.RemoveAll(filepath.Join(w.repo, "tasks/runs/t1")); err != nil {
			t.Fatal(err)
		}
	}
}

// Runners in separate processes share a queue while one after the other is
// killed: every task is committed once, and its events are sound and say so.
func TestKilledRunnersDoTasksOnce(t *testing.T) {
	proved := proof.Start(t, 14)
	w := newWorld(t)
	const tasks = 12
	for n := range tasks {
		w.queued(spec.Task{ID: fmt.Sprintf("t%02d", n), Retries: 30, Steps: runs(fmt.Sprintf("echo x >src/x%d", n))})
	}
	kills, deadline := 0, time.Now().Add(2*time.Minute)
	for open := true; open; {
		if time.Now().After(deadline) {
			t.Fatalf("not done: %v", w.items())
		}
		var all []*exec.Cmd
		for range 3 {
			cmd := exec.Command(os.Args[0], "die-at", "never", w.dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			all = append(all, cmd)
		}
		time.Sleep(time.Duration(100+rand.IntN(900)) * time.Millisecond)
		if all[0].Process.Kill() == nil {
			kills++
		}
		for _, cmd := range all {
			_ = cmd.Wait()
		}
		open = slices.ContainsFunc(w.items(), func(i Item) bool { return i.State == Queued || i.State == Running })
	}
	if _, err := runnerAt(w.dir).Once(t.Context(), "core"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	for n := range tasks {
		id := fmt.Sprintf("t%02d", n)
		report, err := readReport(w.queue().Runs(id))
		if err != nil || !report.OK() || !w.in(Done, id) {
			t.Errorf("%s: %+v, %v", id, report, err)
			continue
		}
		if types, task := w.events(id); task.Status != run.TaskDone || types[len(types)-1] != run.RunFinished || task.Failures != report.Attempt-1 {
			t.Errorf("%s: attempt %d, %+v, %q", id, report.Attempt, task, types)
		}
	}
	proved("kills", kills, "tasks", tasks)
}
