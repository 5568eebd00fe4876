package cleanup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

const keep = "__keep"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == keep {
		worker.Grace = 200 * time.Millisecond
		os.Exit(worker.Keep(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

var cleaner = Cleaner{Table: process.System()}

// fixture is a run of which one task is worked on by hand.
type fixture struct {
	*run.Run
	t     *testing.T
	store *run.Store
	later time.Duration // that has passed
	jump  time.Duration // of the wall clock

	script string // of workers; "": they sleep
	agent  bool   // they run agents
}

func (f *fixture) read(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.Workspace(), name))
	f.must(err)
	return string(text)
}

func begun(t *testing.T, completed run.Retention) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t}
	clock := func() clock.Moment {
		m := clock.Now()
		m.Wall += (f.later + f.jump).Milliseconds()
		m.Up += f.later.Milliseconds()
		return m
	}
	f.store, _, err = run.Init(dir, run.Options{Check: func(string, string, []byte) error { return nil }, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	set := spec.RunSettings{
		Strategy: "graph", Depth: "standard", MaxWorkers: 9, MaxAttempts: 1, ReadinessMS: 5000, LeaseMS: 60_000, HeartbeatMS: 20_000,
		CompletedDefault: string(completed), RetainLogsDays: 7, WorktreeRoot: "/",
	}
	f.Run, err = f.store.Start(run.Plan{ID: "r1", Goal: "to be cleaned up", Settings: set, Tasks: []spec.RunTask{{ID: "a"}, {ID: "b"}, {ID: "c"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		st, err := f.State()
		if err != nil {
			return
		}
		for _, w := range st.Workers {
			if w.Substrate != run.External {
				_ = worker.End(context.Background(), process.System(), supervise.Folder(f.Run, w.ID), w.Owner)
			}
		}
	})
	return f
}

// worker starts one for a task, as a supervisor does, that sleeps, and returns its token.
func (f *fixture) worker(task string) (id, token string) {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	id = task + ".1"
	for _, dir := range []string{"workers", "logs"} {
		_ = os.Mkdir(filepath.Join(f.Path, dir), 0o700)
	}
	log := filepath.Join("logs", id+".log")
	j := worker.Job{Worker: id, Marker: worker.NewMarker(), Substrate: worker.Process, Command: []string{"sh", "-c", cmp.Or(f.script, "echo printed; exec sleep 60")}, Dir: f.Workspace(), Log: filepath.Join(f.Path, log), Agent: f.agent}
	if err := f.Register(id, run.Registration{Task: task, Adapter: "command", Substrate: run.Process, Owner: j.Marker, Log: log}); err != nil {
		f.t.Fatal(err)
	}
	if token, err = f.Claim(task, id, 0); err != nil {
		f.t.Fatal(err)
	}
	folder := supervise.Folder(f.Run, id)
	starter := worker.Starter{Keeper: []string{self, keep}, Environ: os.Environ()}
	if err := errors.Join(worker.Prepare(folder, j), starter.Start(folder, j, nil)); err != nil {
		f.t.Fatal(err)
	}
	o := f.await(id, func(o worker.Observation) bool {
		text, _ := os.ReadFile(j.Log)
		return o.State == worker.Running && o.Ready != nil && len(text) > 0
	})
	k := o.Ticket.Keeper
	h := run.Handle{PID: k.PID, Start: k.Start, Boot: k.Boot, Command: k.Args, Marker: j.Marker}
	if err := f.Change(func(c *run.Change) error { return c.Started(id, h) }); err != nil {
		f.t.Fatal(err)
	}
	return id, token
}

func (f *fixture) await(id string, is func(worker.Observation) bool) worker.Observation {
	f.t.Helper()
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		if o := f.observe(id); is(o) {
			return o
		}
	}
	f.t.Fatalf("worker %s is %s", id, f.observe(id))
	return worker.Observation{}
}

func (f *fixture) state() *run.State {
	f.t.Helper()
	st, err := f.State()
	if err != nil {
		f.t.Fatal(err)
	}
	return st
}

func (f *fixture) observe(id string) worker.Observation {
	f.t.Helper()
	o, err := worker.Observe(process.System(), supervise.Folder(f.Run, id), f.state().Worker(id).Owner)
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// over ends a worker's work, but not the worker.
func (f *fixture) over(id, token string, to run.Retention) {
	f.t.Helper()
	f.must(f.Complete(token))
	f.must(f.Move(id, run.Move{To: to, By: run.BySupervisor, Reason: "its work is over"}))
}

func (f *fixture) look() map[string]Item {
	f.t.Helper()
	items, err := cleaner.Look(f.Run)
	f.must(err)
	return byKey(items)
}

func byKey(items []Item) map[string]Item {
	out := map[string]Item{}
	for _, i := range items {
		out[strings.TrimSpace(i.Worker+" "+i.Log)] = i
	}
	return out
}

func (f *fixture) do(c Cleaner) (map[string]Item, error) {
	f.t.Helper()
	items, err := c.Look(f.Run)
	f.must(err)
	err = c.Do(context.Background(), f.Run, items)
	return byKey(items), err
}

func TestCleanupClosesOnlyFinishedOwnWorkers(t *testing.T) {
	f := begun(t, run.CompletedRetained)
	working, _ := f.worker("a")
	kept, token := f.worker("b")
	f.over(kept, token, run.CompletedRetained)
	over, token := f.worker("c")
	f.over(over, token, run.SafeToClose)
	f.must(f.Register("theirs", run.Registration{Adapter: "manual", Substrate: run.External}))
	before := tree(t, f.Workspace())

	looked := f.look()
	for id, want := range map[string]string{working: Keep, kept: Keep, over: Close, "theirs": Keep} {
		if got := looked[id]; got.Action != want || got.Why == "" {
			t.Errorf("%s: %+v, want %s", id, got, want)
		}
	}
	if after := tree(t, f.Workspace()); !slices.Equal(before, after) {
		t.Errorf("a look changed something:\n%v\n%v", before, after)
	}

	done, err := f.do(cleaner)
	if err != nil || !done[over].Done {
		t.Errorf("%v: %+v", err, done[over])
	}
	for id, want := range map[string]worker.State{working: worker.Running, kept: worker.Running, over: worker.Ended} {
		if got := f.observe(id).State; got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	w := f.state().Worker(over)
	if w.Retention != run.Closed || w.Moves[len(w.Moves)-1].Observed == "" {
		t.Errorf("it is %s: %+v", w.Retention, w.Moves)
	}
	for _, path := range before {
		if _, err := os.Lstat(strings.Fields(path)[0]); err != nil {
			t.Errorf("deleted: %v", err)
		}
	}

	// Explicitly, retained ones too; never one that works.
	all := Cleaner{Table: process.System(), Retained: true}
	if _, err := f.do(all); err != nil {
		t.Error(err)
	}
	if got := f.observe(kept); !got.Gone() || f.state().Worker(kept).Retention != run.Closed {
		t.Errorf("the retained one is %s", got)
	}
	if got := f.observe(working).State; got != worker.Running {
		t.Errorf("the one at work is %s", got)
	}
}

// tree lists every path below root with its size and time of change.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		out = append(out, fmt.Sprintln(path, info.Size(), info.ModTime()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCleanupRecordsGoneHandle(t *testing.T) {
	f := begun(t, run.CompletedRetained)
	id, token := f.worker("a")
	f.must(f.Complete(token))
	f.must(f.Move(id, run.Move{To: run.CompletedRetained, By: run.BySupervisor, Reason: "its work is over"}))
	f.must(worker.End(context.Background(), process.System(), supervise.Folder(f.Run, id), f.state().Worker(id).Owner))
	done, err := f.do(cleaner)
	if err != nil || done[id].Action != Note || f.state().Worker(id).Retention != run.Closed {
		t.Errorf("%v: %+v", err, done[id])
	}
	if again, err := f.do(cleaner); err != nil || len(again) != 0 {
		t.Errorf("a second time: %v, %+v", err, again)
	}
}

func TestCleanupKeepsBackgroundProcesses(t *testing.T) {
	f := begun(t, run.SafeToClose)
	f.script = "sleep 300 & echo $! $$ > left; echo printed; exec sleep 60"
	id, token := f.worker("a")
	f.over(id, token, run.SafeToClose)
	left := strings.Fields(f.read("left"))
	defer func() { _ = exec.Command("kill", left...).Run() }()
	f.must(exec.Command("kill", "-9", fmt.Sprint(f.observe(id).Ticket.Keeper.PID)).Run())
	f.await(id, func(o worker.Observation) bool { return o.Keeper == worker.Gone })
	if done, err := f.do(cleaner); err != nil || done[id].Action != Keep {
		t.Errorf("without a keeper: %v, %+v", err, done[id])
	}
	for _, pid := range left {
		if err := exec.Command("kill", "-0", pid).Run(); err != nil {
			t.Errorf("what it left: %v", err)
		}
	}
}

func TestCleanupEndsWhatAgentLeft(t *testing.T) {
	f := begun(t, run.SafeToClose)
	f.agent, f.script = true, "setsid sh -c 'echo $$ > left; exec sleep 300' & until [ -s left ]; do sleep 0.05; done; echo printed; exec sleep 60"
	id, token := f.worker("a")
	f.over(id, token, run.SafeToClose)
	left := strings.TrimSpace(f.read("left"))
	defer func() { _ = exec.Command("kill", left).Run() }()
	f.must(exec.Command("kill", "-9", fmt.Sprint(f.observe(id).Ticket.Keeper.PID)).Run())
	f.await(id, func(o worker.Observation) bool { return o.Keeper == worker.Gone })
	items, err := cleaner.Look(f.Run)
	if err != nil || len(items) == 0 || items[0].Action != Close || !strings.Contains(items[0].Why, "the agent left running: ") || !strings.Contains(items[0].Why, "process "+left+" (sleep 300)") {
		t.Errorf("%v: %+v", err, items)
	}
	if done, err := f.do(cleaner); err != nil || f.state().Worker(id).Retention != run.Closed {
		t.Errorf("%v, %+v", err, done[id])
	}
	pid, err := strconv.Atoi(left)
	f.must(err)
	if _, err := process.System().Read(pid); err == nil { // one that only waits for its parent is gone
		t.Errorf("process %s still runs", left)
	}
}

func TestCleanupKeepsUnprovedWorkers(t *testing.T) {
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	f := begun(t, run.SafeToClose)
	id, token := f.worker("a")
	f.over(id, token, run.SafeToClose)
	folder := supervise.Folder(f.Run, id)
	ticket, err := os.ReadFile(filepath.Join(folder, "ticket.json"))
	f.must(err)
	k := f.observe(id).Ticket.Keeper
	p, err := process.System().Read(bystander.Process.Pid)
	f.must(err)
	for _, c := range []struct{ says, from, to, why string }{
		{"another worker's ticket", `"marker": "`, `"marker": "0`, "belongs to another worker"},
		{"the ticket of a process that the events do not know", fmt.Sprintf(`"pid": %d`, k.PID), fmt.Sprintf(`"pid": %d`, p.PID), ""},
	} {
		f.must(os.WriteFile(filepath.Join(folder, "ticket.json"), []byte(strings.Replace(string(ticket), c.from, c.to, 1)), 0o600))
		done, err := f.do(cleaner)
		if err != nil || done[id].Action != Keep || !strings.Contains(done[id].Why, c.why) {
			t.Errorf("%s: %v, %+v", c.says, err, done[id])
		}
		if got := k.Presence(process.System()); got != worker.Here {
			t.Errorf("%s: the worker is %s", c.says, got)
		}
	}
	// The bystander, told as the worker in every field of the ticket: the events know better.
	forged := strings.NewReplacer(fmt.Sprintf(`"pid": %d`, k.PID), fmt.Sprintf(`"pid": %d`, p.PID), fmt.Sprintf(`"start": %d`, k.Start), fmt.Sprintf(`"start": %d`, p.Start)).Replace(string(ticket))
	from, to := strings.Index(forged, `"args"`), strings.Index(forged, `]`)
	forged = forged[:from] + `"args": ["sleep", "60"` + forged[to:]
	f.must(os.WriteFile(filepath.Join(folder, "ticket.json"), []byte(forged), 0o600))
	if o := f.observe(id); o.Keeper != worker.Here {
		t.Fatalf("the forged ticket is seen as %s", o)
	}
	done, err := f.do(cleaner)
	if err != nil || done[id].Action != Keep || !strings.Contains(done[id].Why, "another process") {
		t.Errorf("%v: %+v", err, done[id])
	}
	if _, err := process.System().Read(p.PID); err != nil {
		t.Errorf("the bystander: %v", err)
	}
	f.must(os.WriteFile(filepath.Join(folder, "ticket.json"), ticket, 0o600))
}

func TestCleanupNeedsConfirmationForStaleWorker(t *testing.T) {
	f := begun(t, run.SafeToClose)
	id, token := f.worker("a")
	f.must(f.Release(token, "taken from it"))
	f.must(f.Move(id, run.Move{To: run.StaleRegistry, By: run.BySupervisor, Reason: "x", Observed: "it runs, and holds no task"}))
	done, err := f.do(Cleaner{Table: process.System(), Retained: true})
	if err != nil || done[id].Action != Keep || f.observe(id).State != worker.Running {
		t.Errorf("%v: %+v", err, done[id])
	}
	f.must(f.Move(id, run.Move{To: run.SafeToClose, By: run.ByOperator, Reason: "I have looked"}))
	if done, err := f.do(cleaner); err != nil || !done[id].Done || !f.observe(id).Gone() {
		t.Errorf("%v: %+v", err, done[id])
	}
}

func TestCleanupContinuesAfterKill(t *testing.T) {
	f := begun(t, run.SafeToClose)
	id, token := f.worker("a")
	f.over(id, token, run.SafeToClose)
	f.must(f.Move(id, run.Move{To: run.CleanupReleased, By: run.ByCleanup, Reason: "a cleanup that was killed here"}))
	if done, err := f.do(cleaner); err != nil || !done[id].Done || f.state().Worker(id).Retention != run.Closed {
		t.Errorf("%v: %+v", err, done[id])
	}
}

func TestCleanupRechecksWorker(t *testing.T) {
	f := begun(t, run.SafeToClose)
	id, token := f.worker("a")
	items, err := cleaner.Look(f.Run) // it is at work
	f.must(err)
	items[0].Action = Close // as from a plan that is old
	if err := cleaner.Do(context.Background(), f.Run, items); !errors.Is(err, ErrIncomplete) || items[0].Error == "" {
		t.Errorf("%v: %+v", err, items[0])
	}
	if f.observe(id).State != worker.Running {
		t.Error("it was closed")
	}
	f.must(f.Complete(token))
}

func TestCleanupRemovesOldUncitedLogs(t *testing.T) {
	f := begun(t, run.SafeToClose)
	plain, token := f.worker("a")
	f.over(plain, token, run.SafeToClose)
	cited, token := f.worker("b")
	log := filepath.Join("logs", cited+".log")
	f.must(f.AddEvidence(token, run.Evidence{Kind: "output", Ref: log, Digest: "sha256:" + strings.Repeat("0", 64)}))
	f.over(cited, token, run.SafeToClose)
	_, token = f.worker("c") // stays
	f.must(f.Fail(token, "x"))
	if _, err := f.do(cleaner); err != nil {
		t.Fatal(err)
	}
	f.must(f.Finish(run.RunFailed, "c failed"))
	goes := func(when string, want bool) {
		t.Helper()
		item, is := f.look()[plain+" logs/"+plain+".log"]
		if is != want {
			t.Errorf("%s: its log goes: %v, %+v", when, is, item)
		}
		for _, id := range []string{cited, "c.1"} {
			if item, is := f.look()[id+" logs/"+id+".log"]; is {
				t.Errorf("%s: the log of %s goes: %+v", when, id, item)
			}
		}
	}
	goes("at once", false)
	f.jump = 30 * 24 * time.Hour
	goes("when the wall clock has jumped", false)
	f.jump, f.later = 0, 8*24*time.Hour
	goes("after eight days", true)
	if _, err := f.do(cleaner); err != nil {
		t.Error(err)
	}
	for id, want := range map[string]bool{plain: false, cited: true, "c.1": true} {
		if _, err := os.Lstat(filepath.Join(f.Path, "logs", id+".log")); (err == nil) != want {
			t.Errorf("the log of %s: %v", id, err)
		}
	}
	if _, err := os.Lstat(supervise.Folder(f.Run, plain)); err != nil {
		t.Errorf("its folder: %v", err)
	}
}
