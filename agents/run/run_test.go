package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// world is a workspace with a clock that tests turn.
type world struct {
	t     testing.TB
	dir   string
	home  string
	store *Store
	now   clock.Moment
	check Check
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return world{check: schema.CheckRun}.init(t)
}

// quickWorld looks at no schema.
func quickWorld(t testing.TB) *world {
	t.Helper()
	return world{check: func(string, string, []byte) error { return nil }}.init(t)
}

func (from world) init(t testing.TB) *world {
	t.Helper()
	w := &world{check: from.check, t: t, dir: t.TempDir(), home: t.TempDir(), now: clock.Moment{Wall: 1_767_323_045_006, Boot: "0000000a-0000000b", Up: 1_000_000}}
	s, _, err := Init(w.dir, w.options())
	if err != nil {
		t.Fatal(err)
	}
	w.store = s
	return w
}

func (w *world) options() Options {
	return Options{Home: w.home, Adapters: []string{"opencode"}, unsynced: true, Check: w.check, Clock: func() clock.Moment { return w.now }}
}

// pass lets time go by, on both clocks.
func (w *world) pass(d time.Duration) { w.now.Wall += d.Milliseconds(); w.now.Up += d.Milliseconds() }

func (w *world) start(tasks ...spec.RunTask) *Run {
	w.t.Helper()
	c, err := w.store.Config()
	if err != nil {
		w.t.Fatal(err)
	}
	c.Settings.RequireEvidence = false
	r, err := w.store.Start(Plan{ID: "r1", Goal: "make it so", Tasks: tasks, Settings: c.Settings, Reasons: c.Reasons})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) state(r *Run) *State {
	w.t.Helper()
	s, err := r.State()
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func task(id string, after ...string) spec.RunTask { return spec.RunTask{ID: id, DependsOn: after} }

// wantRule fails unless err is a refusal by that rule.
func wantRule(t *testing.T, err error, rule string) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Rule != rule {
		t.Errorf("got %v, want a refusal by rule %s", err, rule)
	}
}

func worker(t testing.TB, r *Run, id string) {
	t.Helper()
	if err := r.Register(id, Registration{Adapter: "command", Substrate: External}); err != nil {
		t.Fatal(err)
	}
}

func TestRunCompletesTaskByTask(t *testing.T) {
	w := newWorld(t)
	r := w.start(task("b", "a"), task("a"))
	worker(t, r, "w1")
	if s := w.state(r); s.Ready()[0].ID != "a" || len(s.Ready()) != 1 {
		t.Fatalf("ready: %v", s.Ready())
	}
	_, err := r.Claim("b", "w1", 0)
	wantRule(t, err, "dependencies-first")
	for _, id := range []string{"a", "b"} {
		tok, err := r.Claim(id, "w1", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []error{r.Ready(tok), r.Renew(tok, 0), r.Complete(tok)} {
			if step != nil {
				t.Fatal(step)
			}
		}
		wantRule(t, r.Complete(tok), "stale-token")
	}
	if err := r.Finish(RunCompleted, ""); err != nil {
		t.Fatal(err)
	}
	s := w.state(r)
	if !s.Over() || s.Counts()[TaskDone] != 2 {
		t.Errorf("%+v", s)
	}
	if id := must(w.store.Active()); id != "" {
		t.Errorf("active is %q", id)
	}
	if d := r.Divergence(s); d != nil {
		t.Error(d)
	}
}

func TestClaimIsExclusive(t *testing.T) {
	w := newWorld(t)
	r := w.start(task("a"), task("b"))
	worker(t, r, "w1")
	worker(t, r, "w2")
	first := must(r.Claim("a", "w1", time.Minute))
	_, err := r.Claim("a", "w2", time.Minute)
	wantRule(t, err, "one-claim-a-task")
	_, err = r.Claim("b", "w1", time.Minute)
	wantRule(t, err, "one-claim-a-worker")

	if freed := must(r.Expire()); len(freed) != 0 {
		t.Errorf("freed %v before the lease was over", freed)
	}
	w.pass(61 * time.Second)
	_, err = r.Claim("a", "w2", time.Minute)
	wantRule(t, err, "one-claim-a-task") // being late frees nothing by itself
	if freed := must(r.Expire()); len(freed) != 1 || freed[0] != "a" {
		t.Errorf("freed %v", freed)
	}
	second := must(r.Claim("a", "w2", time.Minute))
	for _, err := range []error{r.Renew(first, 0), r.Complete(first), r.Fail(first, "x"), r.Release(first, "x"), r.Ready(first),
		r.AddEvidence(first, Evidence{Kind: "artifact", Ref: "x", Digest: digest(nil)})} {
		wantRule(t, err, "stale-token")
	}
	if err := r.Complete(second); err != nil {
		t.Error(err)
	}
	if got := w.state(r).Task("a"); got.DoneBy != "w2" || got.Attempts != 2 {
		t.Errorf("%+v", got)
	}
}

func TestLateHeartbeatKeepsUnfreedClaim(t *testing.T) {
	w := newWorld(t)
	r := w.start(task("a"))
	worker(t, r, "w1")
	tok := must(r.Claim("a", "w1", time.Minute))
	w.pass(2 * time.Minute)
	if err := r.Renew(tok, time.Minute); err != nil {
		t.Fatal(err)
	}
	if freed := must(r.Expire()); len(freed) != 0 {
		t.Errorf("freed %v", freed)
	}
}

func TestLeasesIgnoreWallClock(t *testing.T) {
	for _, c := range []struct {
		name    string
		turn    func(*clock.Moment)
		expired bool
	}{
		{"the wall clock jumps a year ahead", func(m *clock.Moment) { m.Wall += 365 * 86_400_000 }, false},
		{"the wall clock jumps back, and the lease is over", func(m *clock.Moment) { m.Wall -= 86_400_000; m.Up += 61_000 }, true},
		{"the machine was restarted a moment ago", func(m *clock.Moment) { m.Boot, m.Up = "0000000a-0000000c", 5_000 }, false},
		{"it was restarted longer ago than the lease, its clock a year behind", func(m *clock.Moment) {
			m.Boot, m.Up = "0000000a-0000000c", 61_000
			m.Wall -= 365 * 86_400_000
		}, true},
		{"it was restarted, and the wall clock says that the lease is over", func(m *clock.Moment) { m.Boot, m.Up = "0000000a-0000000c", 5_000; m.Wall += 61_000 }, true},
		{"another machine, within the lease", func(m *clock.Moment) { m.Boot, m.Up = "0000000d-0000000e", 900_000_000; m.Wall += 59_000 }, false},
		{"another machine, after it", func(m *clock.Moment) { m.Boot, m.Up = "0000000d-0000000e", 1; m.Wall += 61_000 }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			r := w.start(task("a"))
			worker(t, r, "w1")
			must(r.Claim("a", "w1", time.Minute))
			c.turn(&w.now)
			if freed := must(r.Expire()); len(freed) == 1 != c.expired {
				t.Errorf("freed %v", freed)
			}
			w.state(r) // a replay judges the same
		})
	}
}

// Every pair of states that is not in the table is refused by name.
func TestRetentionFollowsTransitions(t *testing.T) {
	all := []Retention{Active, CompletedRetained, SafeToClose, StaleRegistry, CleanupReleased, Closed}
	ways := map[Retention][]Move{
		Active:            {},
		CompletedRetained: {{To: CompletedRetained, By: BySupervisor, Reason: "r"}},
		SafeToClose:       {{To: SafeToClose, By: BySupervisor, Reason: "r"}},
		StaleRegistry:     {{To: StaleRegistry, By: BySupervisor, Reason: "r", Observed: "o"}},
		CleanupReleased:   {{To: SafeToClose, By: ByOperator, Reason: "r"}, {To: CleanupReleased, By: ByCleanup, Reason: "r"}},
		Closed:            {{To: SafeToClose, By: ByOperator, Reason: "r"}, {To: CleanupReleased, By: ByCleanup, Reason: "r"}, {To: Closed, By: ByCleanup, Reason: "r", Observed: "o"}},
	}
	w := quickWorld(t)
	r := w.start(task("a"))
	n := 0
	for _, from := range all {
		for _, to := range all {
			for _, by := range []string{BySupervisor, ByOperator, ByCleanup} {
				if _, err := legal(from, to); err != nil && by != ByCleanup {
					continue // who asks does not matter
				}
				n++
				id := fmt.Sprintf("w%d", n)
				worker(t, r, id)
				for _, m := range ways[from] {
					if err := r.Move(id, m); err != nil {
						t.Fatal(from, err)
					}
				}
				err := r.Move(id, Move{From: from, To: to, By: by, Reason: "r", Observed: "o"})
				tr, illegal := legal(from, to)
				switch {
				case illegal != nil:
					wantRule(t, err, "no-such-transition")
				case !strings.Contains(strings.Join(tr.By, " "), by):
					wantRule(t, err, tr.Rule)
				case err != nil:
					t.Errorf("%s to %s by the %s: %v", from, to, by, err)
				}
				if illegal == nil && err == nil {
					continue
				}
				if is := must(r.tail()).Worker(id).Retention; is != from {
					t.Errorf("a refused change made %s of %s", is, from)
				}
			}
		}
	}
}

func TestHoldingWorkerIsNotReleased(t *testing.T) {
	w := newWorld(t)
	r := w.start(task("a"))
	worker(t, r, "w1")
	tok := must(r.Claim("a", "w1", time.Minute))
	wantRule(t, r.Move("w1", Move{To: SafeToClose, By: ByOperator, Reason: "r"}), "nothing-depends-on-it")
	wantRule(t, r.Move("w1", Move{To: CompletedRetained, By: BySupervisor, Reason: "r"}), "work-is-over")
	wantRule(t, r.Move("w1", Move{To: StaleRegistry, By: BySupervisor, Reason: "r"}), "evidence-contradicts") // nothing observed
	wantRule(t, r.Finish(RunCancelled, "enough"), "no-open-claims")
	if err := r.Release(tok, "no"); err != nil {
		t.Fatal(err)
	}
	if err := r.Move("w1", Move{To: CompletedRetained, By: BySupervisor, Reason: "done"}); err != nil {
		t.Error(err)
	}
	wantRule(t, r.Finish(RunCompleted, ""), "all-tasks-done")
	_, err := r.Claim("a", "w1", 0)
	wantRule(t, err, "only-active-workers")
}

func TestCompletionNeedsEvidence(t *testing.T) {
	w := newWorld(t)
	r := w.start(spec.RunTask{ID: "a", Evidence: []string{"command:tests", "artifact"}})
	worker(t, r, "w1")
	tok := must(r.Claim("a", "w1", time.Minute))
	wantRule(t, r.Complete(tok), "evidence-before-completion")
	one, zero := 1, 0
	if err := r.AddEvidence(tok, Evidence{Kind: "command", Name: "tests", Command: "go test", ExitCode: &one}); err != nil {
		t.Fatal(err)
	}
	wantRule(t, r.Complete(tok), "evidence-before-completion") // a command that failed proves nothing
	if err := os.WriteFile(filepath.Join(w.dir, "out.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ref, sum, size, err := r.Artifact(filepath.Join(w.dir, "out.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Evidence{{Kind: "command", Name: "tests", Command: "go test", ExitCode: &zero}, {Kind: "artifact", Ref: ref, Digest: sum, Size: size}} {
		if err := r.AddEvidence(tok, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Complete(tok); err != nil {
		t.Error(err)
	}
	list, _, err := r.EvidenceList()
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	r.CheckEvidence(&list[2])
	if list[2].Now != "unchanged" {
		t.Error(list[2])
	}
	if err := os.WriteFile(filepath.Join(w.dir, "out.txt"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.CheckEvidence(&list[2])
	if list[2].Now != "changed" {
		t.Error(list[2])
	}
}

func TestConfigEvidenceIsTheDefault(t *testing.T) {
	w := newWorld(t)
	c := must(w.store.Config())
	r := must(w.store.Start(Plan{ID: "r2", Goal: "g", Settings: c.Settings}))
	worker(t, r, "w1")
	tok := must(r.Claim("main", "w1", 0))
	wantRule(t, r.Complete(tok), "evidence-before-completion")
	ref, sum, size, err := r.KeepOutput(strings.NewReader("all well\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddEvidence(tok, Evidence{Kind: "output", Ref: ref, Digest: sum, Size: size}); err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(tok); err != nil {
		t.Error(err)
	}
}

func TestTaskFailsAfterItsAttempts(t *testing.T) {
	w := newWorld(t)
	r := w.start(task("a"), task("b", "a"))
	worker(t, r, "w1")
	for range 3 {
		if err := r.Fail(must(r.Claim("a", "w1", 0)), "red"); err != nil {
			t.Fatal(err)
		}
	}
	s := w.state(r)
	if s.Task("a").Status != TaskLost || len(s.Blocked()) != 1 || s.Blocked()[0].ID != "b" {
		t.Errorf("%+v", s.Tasks)
	}
	_, err := r.Claim("a", "w1", 0)
	wantRule(t, err, "only-pending")
}

func TestRegisterHonoursMaxWorkers(t *testing.T) {
	w := newWorld(t)
	r := w.start(task("a"))
	for i := range 3 {
		if err := r.Register(fmt.Sprintf("w%d", i), Registration{Adapter: "command", Substrate: Process}); err != nil {
			t.Fatal(err)
		}
	}
	wantRule(t, r.Register("w9", Registration{Adapter: "command", Substrate: Process}), "max-workers")
	if err := r.Register("mine", Registration{Adapter: "manual", Substrate: External}); err != nil {
		t.Error(err) // a worker started outside aisync does not count
	}
	wantRule(t, r.Register("w0", Registration{Adapter: "command", Substrate: External}), "registered-once")
}

func TestOrderNamesCycle(t *testing.T) {
	for _, c := range []struct {
		tasks []spec.RunTask
		want  string
	}{
		{[]spec.RunTask{task("a", "c"), task("b", "a"), task("c", "b")}, "a → c → b → a"},
		{[]spec.RunTask{task("a", "a")}, "a → a"},
		{[]spec.RunTask{task("a", "z")}, `depends on the unknown task "z"`},
		{[]spec.RunTask{task("a"), task("a")}, "duplicate task"},
		{[]spec.RunTask{task("../a")}, "letters, digits"},
	} {
		if _, err := order(c.tasks); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
