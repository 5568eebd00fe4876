package cleanup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/record"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/tmuxtest"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

const seedConfig = `{
  "schemaVersion": 1,
  "storage": {"root": ".ilchul", "legacyRootPolicy": "preserve-without-active-fallback"},
  "adapters": {
    "codex": {"enabled": true, "defaultSubstrate": "tmux"},
    "pi": {"enabled": true, "defaultSubstrate": "tmux"},
    "claudeCode": {"enabled": false, "defaultSubstrate": "process"}
  },
  "runtime": {"worktreeRoot": ".ilchul/worktrees", "maxWorkers": 9, "readinessTimeoutSeconds": 60, "leaseDurationSeconds": 900, "heartbeatTimeoutSeconds": 120},
  "retention": {"completedDefault": "completed-retained", "safeCleanupRequiresCommand": true, "retainLogsDays": 7},
  "verification": {"defaultDepth": "standard", "requireEvidenceForTaskCompletion": true}
}`

// checkFiles checks every file below .ilchul against the schema of its kind, and
// fails for a file of an unknown kind. It returns the retention states of all
// workers in workers.json.
func checkFiles(t *testing.T, when, store string, states map[string]bool) {
	t.Helper()
	err := filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file of a writer
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(store, path)
		name, folder := filepath.Base(path), filepath.Base(filepath.Dir(path))
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		check := func(kind string, text []byte) {
			t.Helper()
			if err := schema.CheckRun(kind, rel, text); err != nil {
				t.Errorf("%s: %v\n%s", when, err, text)
			}
		}
		each := func(kind string) {
			for line := range strings.Lines(string(text)) {
				check(kind, []byte(line))
				var e struct {
					Type string          `json:"type"`
					Data json.RawMessage `json:"data"`
				}
				if err := json.Unmarshal([]byte(line), &e); err == nil && e.Type == run.EvidenceAdded {
					check("evidence", e.Data)
				}
			}
		}
		switch {
		case strings.HasPrefix(name, "."), name == "checkpoint.jsonl": // locks and temporary files; for aisync alone
		case folder == "logs", folder == "evidence", folder == "recovered": // what a program printed, and copies
		case filepath.Base(filepath.Dir(filepath.Dir(path))) == "workers": // read by package worker
		case name == "events.jsonl":
			each("event")
		case name == "recovery.log":
			each("recovery")
		case name == "reward-ledger.jsonl":
			each("reward")
		case strings.HasSuffix(name, ".json"):
			check(strings.TrimSuffix(name, ".json"), text)
		case name == "learning-summary.md":
		default:
			t.Errorf("%s: %s is of no known kind", when, rel)
		}
		if name == "workers.json" {
			var doc struct {
				Workers []struct{ State string }
			}
			if err := json.Unmarshal(text, &doc); err != nil {
				return err
			}
			for _, w := range doc.Workers {
				states[w.State] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Each file that a run writes is valid by its schema, in all states of tasks and
// workers. The check does not depend on how aisync itself compares its files.
func TestRunFilesMatchSchemas(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := run.Init(dir, run.Options{Check: schema.CheckRun, Home: t.TempDir()})
	f := &fixture{t: t, store: store}
	f.must(err)
	states := map[string]bool{}
	valid := func(when string) { t.Helper(); checkFiles(t, when, store.Path, states) }
	valid("after init")
	put := func(name, text string) {
		t.Helper()
		f.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put(".ilchul/config.json", seedConfig)
	put(".ilchul/learning/policy-hints.json", `{"schemaVersion":1,"hints":[{"text":"keep tasks small","from":"a person"}]}`)
	put("built", "a program")

	c, err := store.Config()
	f.must(err)
	c.Settings.HeartbeatMS = 400 // so that renewals are among the events
	c.Settings.MaxAttempts, c.Settings.Adapter, c.Settings.Worktrees = 1, "codex", false
	advice, err := store.Advice()
	f.must(err)
	no := false
	sh := func(id, script string) spec.RunTask {
		return spec.RunTask{ID: id, Adapter: "command", Command: []string{"sh", "-c", script, "", "x"}, Env: map[string]string{"A": ""}, Worktree: &no}
	}
	ok := sh("ok", "echo it works")
	ok.Title, ok.Evidence, ok.Substrate = "a title", []string{"command:check", "output:log"}, run.Process
	late := sh("over", "exec sleep 60")
	late.TimeoutSeconds = 1
	tasks := []spec.RunTask{
		ok, late, sh("bad", "exit 3"), sh("killed", "kill -TERM $$"), sh("lost", "echo $$ >pid; exec sleep 60"), sh("live", "echo at work; exec sleep 60"), {ID: "off"},
		{ID: "answers", Adapter: "codex", Goal: "say so", Evidence: []string{"output"}, Command: []string{"sh", "-c", "echo done"}},
		{ID: "hand", Adapter: "manual", Goal: "look", DependsOn: []string{"ok"}, Evidence: []string{"artifact:built"}},
		{ID: "late", Adapter: "manual"},
	}
	live := []string{"live.1"}
	tmux := worker.Server{}
	if _, err := exec.LookPath("tmux"); err == nil {
		tmux.Socket = tmuxtest.Socket(t)
		pane := sh("pane", "exec sleep 60")
		pane.Substrate = run.Tmux
		tasks, live = append(tasks, pane), append(live, "pane.1")
	}
	f.Run, err = store.Start(run.Plan{ID: "r1", Goal: "every file", By: "me", Acceptance: []string{"it works"}, Evidence: []string{"artifact"}, Objective: "few files",
		Tasks: tasks, Settings: c.Settings, Reasons: c.Reasons, Advice: advice})
	f.must(err)
	valid("after the start")
	t.Cleanup(func() {
		for _, id := range append(live, "lost.1") {
			_ = worker.End(context.Background(), process.System(), supervise.Folder(f.Run, id), f.state().Worker(id).Owner)
		}
	})

	self, err := os.Executable()
	f.must(err)
	s := supervise.Supervisor{
		Run: f.Run, Table: process.System(), Poll: 20 * time.Millisecond,
		Starter: worker.Starter{Keeper: []string{self, keep}, Environ: os.Environ(), Tmux: tmux, Session: "aisync-r1"},
		Plan: func(t run.Task, _ *run.State) (supervise.Plan, error) {
			switch {
			case t.Adapter == "manual":
				return supervise.Plan{}, supervise.ErrByHand
			case len(t.Command) == 0:
				return supervise.Plan{}, errors.New("it cannot start")
			}
			return supervise.Plan{Adapter: t.Adapter, Substrate: t.Substrate, Command: t.Command}, nil
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := s.Work(ctx); err != nil {
			t.Error(err)
		}
	})
	defer wait.Wait()
	defer stop()
	until := func(what string, is func(*run.State) bool) {
		t.Helper()
		for began := time.Now(); !is(f.state()); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 30*time.Second {
				t.Fatalf("never: %s: %+v", what, f.state().Workers)
			}
		}
	}
	until("all run or have ended", func(st *run.State) bool {
		for _, id := range append(live, "lost.1") {
			if w := st.Worker(id); w == nil || w.Handle == nil || w.Ready.Wall == 0 {
				return false
			}
		}
		for _, id := range []string{"ok", "answers"} {
			if st.Task(id).Status != run.TaskDone {
				return false
			}
		}
		return st.Task("bad").Status == run.TaskLost && st.Task("killed").Status == run.TaskLost && st.Task("off").Status == run.TaskLost && st.Task("over").Status == run.TaskLost
	})
	valid("with live workers")
	f.must(exec.Command("kill", "-9", fmt.Sprint(f.observe("lost.1").Ticket.Keeper.PID), strings.TrimSpace(f.read("pid"))).Run())
	until("the killed one is seen to be gone", func(st *run.State) bool { return st.Task("lost").Status == run.TaskLost })
	valid("with a lost worker")
	stop()
	wait.Wait()
	valid("after the supervisor has left")

	// Claims of people, and evidence of each kind.
	f.must(f.Register("me", run.Registration{Adapter: "manual", Substrate: run.External, Worktree: dir, Branch: "main", AgentID: "codex-1"}))
	f.must(f.Register("you", run.Registration{Adapter: "manual", Substrate: run.External, Task: "late"}))
	token, err := f.Claim("hand", "me", time.Minute)
	f.must(err)
	expired, err := f.Claim("late", "you", time.Millisecond)
	f.must(err)
	f.must(errors.Join(f.Ready(token), f.Renew(token, 0)))
	valid("with manual claims")
	f.must(f.Release(token, "given back"))
	token, err = f.Claim("hand", "me", 0)
	f.must(err)
	ref, sum, size, err := f.Artifact(filepath.Join(dir, "built"))
	f.must(err)
	built := run.Evidence{Kind: "artifact", Name: "built", Ref: ref, Digest: sum, Size: size}
	out, outSum, outSize, err := f.KeepOutput(strings.NewReader(""))
	f.must(err)
	seven := 7
	f.must(errors.Join(f.AddEvidence(token, built), f.AddEvidence("", built), f.AddEvidence(token, run.Evidence{Kind: "output", Ref: out, Digest: outSum, Size: outSize}),
		f.AddEvidence(token, run.Evidence{Kind: "command", Command: "make", ExitCode: &seven}), f.Complete(token)))
	time.Sleep(5 * time.Millisecond)
	if freed, err := f.Expire(); err != nil || len(freed) != 1 {
		t.Errorf("freed %v, %v", freed, err)
	}
	if err := f.Renew(expired, 0); err == nil {
		t.Error("an expired claim was renewed")
	}
	valid("with an expired claim")

	// What a person decides, and each step of a cleanup.
	f.must(errors.Join(f.Move("me", run.Move{To: run.CompletedRetained, By: run.ByOperator, Reason: "kept"}), f.Move("lost.1", run.Move{To: run.SafeToClose, By: run.ByOperator, Reason: "looked"})))
	f.must(f.Move("bad.1", run.Move{To: run.CleanupReleased, By: run.ByCleanup, Reason: "asked to"}))
	valid("with a worker that a cleanup has released")
	if _, err := f.do(cleaner); err != nil {
		t.Error(err)
	}
	valid("after a cleanup")

	// A recovery, the end, and a run beside.
	events := filepath.Join(f.Path, "events.jsonl")
	text, err := os.ReadFile(events)
	f.must(err)
	f.must(os.WriteFile(events, append(text, "nonsense\n"...), 0o600))
	if _, err := f.Recover(); err != nil {
		t.Fatal(err)
	}
	valid("after a recovery")
	stopper := supervise.Supervisor{Run: f.Run, Table: process.System()}
	if done, err := stopper.Stop(context.Background(), []string{"live.1"}, "it hangs"); err != nil || !done[0].Done {
		t.Errorf("%+v, %v", done, err)
	}
	valid("with a stopped worker")
	if done, err := stopper.StopAll(context.Background(), "enough"); err != nil || f.state().Contract.Status != run.RunCancelled {
		t.Errorf("%+v, %v", done, err)
	}
	valid("after the end")
	zero := 0
	aside := record.Begin(func() (*run.Store, error) { return store, nil }, record.Work{
		Goal: "a session", By: "me", Task: spec.RunTask{ID: "session", Evidence: []string{"command:session"}}, Worker: "primary", Register: run.Registration{Adapter: "codex", AgentID: "codex-1"},
	})
	f.must(aside.End(record.Outcome{Status: run.RunCompleted, Evidence: []run.Evidence{{Kind: "command", Name: "session", Command: "codex", ExitCode: &zero}}, Outputs: []record.Output{{Name: "report", Text: []byte("r")}}}))
	valid("with a recorded session")
	if errs := append(store.CheckFiles(), f.CheckFiles()...); len(errs) > 0 {
		t.Error(errs)
	}
	for _, want := range []run.Retention{run.Active, run.CompletedRetained, run.SafeToClose, run.StaleRegistry, run.CleanupReleased, run.Closed} {
		if !states[string(want)] {
			t.Errorf("no workers.json had a worker that is %s", want)
		}
	}
}
