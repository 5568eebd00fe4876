package run

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/schema/spec"
)

var sameState = cmp.Options{cmpopts.IgnoreUnexported(State{}), cmpopts.EquateEmpty()}

// replayed is the run read from its first event, without the checkpoint.
func replayed(t testing.TB, r *Run) *State {
	t.Helper()
	s, err := r.Replay(func(Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tail is what the checkpoint and what came after it say.
func (r *Run) tail() (*State, error) {
	s := r.startState()
	return s, r.load(s, s.AsOf.Seq == 0, nil)
}

// random does one thing to a run that a supervisor, worker, person or cleanup
// might do, legal or not. What is refused must change nothing.
func random(w *world, r *Run, rnd *rand.Rand) error {
	w.pass(time.Duration(rnd.IntN(40)) * time.Second)
	switch rnd.IntN(20) {
	case 0:
		w.now.Wall += int64(rnd.IntN(2_000_000_000)) - 1_000_000_000 // the wall clock jumps
	case 1:
		w.now.Boot, w.now.Up = fmt.Sprintf("0000000a-%08x", rnd.Uint32()), int64(rnd.IntN(100_000))
	}
	pickTask := fmt.Sprintf("t%d", rnd.IntN(7)) // t6 is none
	pickWorker := fmt.Sprintf("w%d", rnd.IntN(8))
	token := "1-0000000000000000"
	if s, err := r.tail(); err == nil && len(s.Tasks) > 0 {
		if t := s.Tasks[rnd.IntN(len(s.Tasks))]; t.Claim != nil {
			token = t.Claim.Token
		}
	}
	zero := 0
	retentions := []Retention{CompletedRetained, SafeToClose, StaleRegistry, CleanupReleased, Closed}
	switch rnd.IntN(12) {
	case 0:
		return r.Register(pickWorker, Registration{Adapter: "command", Substrate: []string{Tmux, Process, External}[rnd.IntN(3)]})
	case 1, 2, 3:
		_, err := r.Claim(pickTask, pickWorker, time.Duration(1+rnd.IntN(90))*time.Second)
		return err
	case 4:
		return r.Renew(token, time.Duration(1+rnd.IntN(90))*time.Second)
	case 5:
		_, err := r.Expire()
		return err
	case 6:
		return r.Complete(token)
	case 7:
		return r.Fail(token, "red")
	case 8:
		return r.Release(token, "no")
	case 9:
		return r.AddEvidence(token, Evidence{Kind: "command", Command: "x", ExitCode: &zero})
	case 10:
		return r.Move(pickWorker, Move{To: retentions[rnd.IntN(5)], By: []string{BySupervisor, ByOperator, ByCleanup}[rnd.IntN(3)], Reason: "r", Observed: "o"})
	default:
		if rnd.IntN(40) == 0 {
			return r.Finish([]string{RunCompleted, RunFailed, RunCancelled}[rnd.IntN(3)], "r")
		}
		return r.Change(func(c *Change) error { return c.Started(pickWorker, Handle{PID: 1 + rnd.IntN(100)}) })
	}
}

func graph() []spec.RunTask {
	return []spec.RunTask{task("t0"), task("t1", "t0"), task("t2"), {ID: "t3", DependsOn: []string{"t2"}, Evidence: []string{"command"}}, task("t4"), task("t5", "t3", "t1")}
}

func TestReplayEqualsProjectionForRandomHistories(t *testing.T) {
	const histories, steps = 5, 150
	proved := proof.Start(t, 16)
	for seed := range uint64(histories) {
		rnd := rand.New(rand.NewPCG(seed, 10))
		w := quickWorld(t)
		r := w.start(graph()...)
		other := must(w.store.Run("r1")) // a second process, with its own memory of it
		done := map[string]string{}
		refused := 0
		for i := range steps {
			at := r
			if i%3 == 0 {
				at = other
			}
			before := len(must(os.ReadFile(filepath.Join(r.Path, eventsFile))))
			if err := random(w, at, rnd); err != nil {
				var no *Refusal
				if !errors.As(err, &no) {
					t.Fatalf("seed %d, step %d: %v", seed, i, err)
				}
				refused++
				if after := len(must(os.ReadFile(filepath.Join(r.Path, eventsFile)))); after != before {
					t.Fatalf("seed %d, step %d: refused (%v), and %d bytes were written", seed, i, no, after-before)
				}
			}
			if i%10 != 9 {
				continue
			}
			truth := replayed(t, r)
			projected, err := r.tail()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(truth, projected, sameState); diff != "" {
				t.Fatalf("seed %d, step %d: -replay +projection\n%s", seed, i, diff)
			}
			if d := r.Divergence(truth); d != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, d)
			}
			for _, task := range truth.Tasks {
				if was := done[task.ID]; was != "" && task.DoneBy != was {
					t.Fatalf("task %s was done by %s, and then by %s", task.ID, was, task.DoneBy)
				}
				done[task.ID] = task.DoneBy
			}
		}
		if refused < 20 || refused > 145 {
			t.Errorf("seed %d: %d of 150 were refused: the test tries too little", seed, refused)
		}
	}
	proved("histories", histories, "operations", histories*steps)
}

// killed is the death of the process at a step; the lock goes with it.
type killed struct{ op, file string }

// dies runs do and kills it at its nth change of a file. It reports whether it
// came to that.
func dies(s *Store, n int, do func()) (at *killed) {
	s.hook = func(op, file string) error {
		if n--; n < 0 {
			panic(killed{op, file})
		}
		return nil
	}
	defer func() {
		s.hook = nil
		if k, ok := recover().(killed); ok {
			at = &k
		}
	}()
	do()
	return nil
}

func TestRunSurvivesKillAtAnyWrite(t *testing.T) {
	proved, steps := proof.Start(t, 16), 0
	for n := 0; ; n++ {
		w := quickWorld(t)
		settings := must(w.store.Config()).Settings
		settings.RequireEvidence = false
		story := func() {
			r := must(w.store.Start(Plan{ID: "r1", Goal: "g", Tasks: []spec.RunTask{task("a"), task("b", "a")}, Settings: settings}))
			for _, id := range []string{"a", "b"} {
				if err := r.Register("w-"+id, Registration{Adapter: "command", Substrate: External}); err != nil {
					panic(err)
				}
				tok := must(r.Claim(id, "w-"+id, time.Minute))
				if err := r.Complete(tok); err != nil {
					panic(err)
				}
			}
			if err := r.Finish(RunCompleted, ""); err != nil {
				panic(err)
			}
		}
		at := dies(w.store, n, story)
		if at == nil {
			steps = n
			break
		}
		s := must(Open(w.dir, w.options()))
		ids, odd, err := s.Runs()
		if err != nil || len(odd) > 0 {
			t.Fatalf("killed at %v: %v %v", at, odd, err)
		}
		if len(ids) == 0 { // the run had not appeared: the same again
			must(s.Start(Plan{ID: "r1", Goal: "g", Tasks: []spec.RunTask{task("a"), task("b", "a")}, Settings: settings}))
		}
		r := must(s.Run("r1"))
		before, err := r.State()
		if err != nil {
			t.Fatalf("killed at %v: %v", at, err)
		}
		if diff := cmp.Diff(before, must(r.tail()), sameState); diff != "" {
			t.Fatalf("killed at %v: -replay +projection\n%s", at, diff)
		}
		finishAnyway(t, w, r, before)
		if events := must(os.ReadFile(filepath.Join(r.Path, eventsFile))); bytes.Count(events, []byte(`"task-completed"`)) != 2 {
			t.Errorf("killed at %v: a task was done twice, or not:\n%s", at, events)
		}
		if d := r.Divergence(w.state(r)); d != nil {
			t.Errorf("killed at %v: %v", at, d)
		}
	}
	if steps < 60 {
		t.Errorf("only %d writes: the test kills too seldom", steps)
	}
	proved("kills", steps)
}

// finishAnyway is the next supervisor.
func finishAnyway(t *testing.T, w *world, r *Run, s *State) {
	t.Helper()
	w.pass(time.Hour)
	if _, err := r.Expire(); err != nil {
		t.Fatal(err)
	}
	for i := 0; !s.Over(); i++ {
		s = w.state(r)
		ready := s.Ready()
		if len(ready) == 0 {
			if !s.Over() {
				if err := r.Finish(RunCompleted, ""); err != nil {
					t.Fatal(err)
				}
			}
			return
		}
		id := fmt.Sprintf("next-%d", i)
		worker(t, r, id)
		if err := r.Complete(must(r.Claim(ready[0].ID, id, time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConcurrentClaimsAreExclusive(t *testing.T) {
	proved := proof.Start(t, 16)
	w := newWorld(t)
	var tasks []spec.RunTask
	for i := range 30 {
		tasks = append(tasks, task(fmt.Sprintf("t%d", i)))
	}
	r := w.start(tasks...)
	var wait sync.WaitGroup
	for i := range 4 {
		worker(t, r, fmt.Sprintf("w%d", i))
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "RUN_CLAIM_IN="+w.dir, fmt.Sprintf("RUN_CLAIM_AS=w%d", i))
		wait.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wait.Wait()
	s := must(must(Open(w.dir, w.options())).Run("r1"))
	state := w.state(s)
	if state.Counts()[TaskDone] != 30 {
		t.Errorf("%v", state.Counts())
	}
	for _, task := range state.Tasks {
		if task.Attempts != 1 {
			t.Errorf("task %s was claimed %d times", task.ID, task.Attempts)
		}
	}
	proved("tasks", len(tasks))
}

// TestMain makes the test binary one of the processes of
// TestConcurrentClaimsAreExclusive where its environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RUN_CLAIM_IN"); dir != "" {
		if err := claimAll(dir, os.Getenv("RUN_CLAIM_AS")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func claimAll(dir, worker string) error {
	store, err := Open(dir, Options{Check: func(string, string, []byte) error { return nil }, unsynced: true})
	if err != nil {
		return err
	}
	r, err := store.Run("r1")
	if err != nil {
		return err
	}
	for {
		s, err := r.State()
		if err != nil {
			return err
		}
		ready := s.Ready()
		if len(ready) == 0 {
			return nil
		}
		tok, err := r.Claim(ready[0].ID, worker, time.Minute)
		if errors.As(err, new(*Refusal)) {
			continue // another was quicker
		}
		if err != nil {
			return err
		}
		if err := r.Complete(tok); err != nil {
			return err
		}
	}
}
