package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/tmuxtest"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// planned is a supervisor that starts every task by p, with its own command.
func planned(r *run.Run, p Plan) *Supervisor {
	s := supervisor(r)
	s.Plan = func(t run.Task, _ *run.State) (Plan, error) {
		p.Command = t.Command
		return p, nil
	}
	return s
}

// tmuxOf is a tmux server of the test's own.
func tmuxOf(t *testing.T) worker.Server {
	t.Helper()
	return worker.Server{Socket: tmuxtest.Socket(t)}
}

func TestManualTaskWaitsForPerson(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("hand", "touch never"), sh("after", "touch after", "hand"))
	s := supervisor(r)
	s.Plan = func(t run.Task, _ *run.State) (Plan, error) {
		if t.ID == "hand" {
			return Plan{}, ErrByHand
		}
		return Plan{Adapter: command, Command: t.Command}, nil
	}
	if out := worked(t, s); out.Status != run.RunActive || !strings.Contains(out.Reason, "aisync run claim hand") {
		t.Errorf("ended %+v", out)
	}
	if err := r.Register("me", run.Registration{Adapter: "manual", Substrate: run.External}); err != nil {
		t.Fatal(err)
	}
	token, err := r.Claim("hand", "me", 0)
	if err != nil {
		t.Fatal(err)
	}
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out = worked(t, s) })
	zero := 0
	if err := errors.Join(r.AddEvidence(token, run.Evidence{Kind: "command", Command: "by hand", ExitCode: &zero}), r.Complete(token)); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if out.Status != run.RunCompleted {
		t.Errorf("ended %+v", out)
	}
	if _, err := os.Stat(filepath.Join(r.Workspace(), "after")); err != nil {
		t.Error(err)
	}
}

func TestAgentAnswerIsEvidenceOnlyIfAsked(t *testing.T) {
	asked := func(id, script string) spec.RunTask {
		t := sh(id, script)
		t.Evidence = []string{"output"}
		return t
	}
	r := begun(t, settings(func(s *spec.RunSettings) { s.MaxAttempts, s.MaxWorkers = 1, 1 }), nil, asked("answers", "echo the answer"), asked("silent", "true"),
		sh("says", "echo I wrote it all"), sh("writes", "echo text > written"))
	if out := worked(t, planned(r, Plan{Adapter: "claude", Substrate: worker.Process})); out.Status != run.RunFailed {
		t.Errorf("ended %+v", out)
	}
	st := state(t, r)
	if task := st.Task("answers"); task.Status != run.TaskDone || task.Proof["output"] != 1 || task.Proof["command"] != 0 {
		t.Errorf("answers is %s: %v", task.Status, task.Proof)
	}
	if task := st.Task("says"); task.Status != run.TaskLost || !strings.Contains(task.Reason, "it wrote nothing and named no artifact") || !strings.Contains(task.Reason, `"evidence": ["output"]`) {
		t.Errorf("says is %s: %s", task.Status, task.Reason)
	}
	if task := st.Task("writes"); task.Status != run.TaskDone {
		t.Errorf("writes is %s: %s", task.Status, task.Reason)
	}
	if task := st.Task("silent"); task.Status != run.TaskLost || !strings.Contains(task.Reason, "evidence") {
		t.Errorf("silent is %s: %s", task.Status, task.Reason)
	}
}

func TestTasksRunInTmux(t *testing.T) {
	r := begun(t, settings(nil), nil, sh("a", "tty > tty; echo printed"), sh("b", "true", "a"))
	s := planned(r, Plan{Adapter: command, Substrate: worker.Tmux})
	s.Starter.Tmux, s.Starter.Session = tmuxOf(t), "aisync-r1"
	if out := worked(t, s); out.Status != run.RunCompleted {
		t.Errorf("ended %+v", out)
	}
	if tty := lines(t, filepath.Join(r.Workspace(), "tty")); len(tty) != 1 || !strings.HasPrefix(tty[0], "/dev/") {
		t.Errorf("it ran on %v", tty)
	}
	h := state(t, r).Workers[0].Handle
	if h == nil || h.Pane == "" || h.Socket != s.Starter.Tmux.Socket || h.Marker == "" {
		t.Errorf("its handle is %+v", h)
	}
}

func TestTerminalAgentReportsDone(t *testing.T) {
	r := begun(t, settings(func(s *spec.RunSettings) { s.RequireEvidence, s.MaxAttempts = false, 1 }), nil, sh("leaves", "true"), sh("says", "echo $AISYNC_CLAIM > token; exec sleep 60"))
	s := planned(r, Plan{Adapter: "claude", Substrate: worker.Tmux})
	s.Starter.Tmux, s.Starter.Session = tmuxOf(t), "aisync-r1"
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out = worked(t, s) })
	until(t, "it runs", func() bool { return len(lines(t, filepath.Join(r.Workspace(), "token"))) == 1 })
	if err := r.Complete(lines(t, filepath.Join(r.Workspace(), "token"))[0]); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	st := state(t, r)
	if out.Status != run.RunFailed || st.Task("says").Status != run.TaskDone || !strings.Contains(st.Task("leaves").Reason, "ended without: aisync run worker done") {
		t.Errorf("ended %+v: %+v", out, st.Tasks)
	}
	for _, w := range st.Workers {
		o, err := worker.Observe(process.System(), Folder(r, w.ID), w.Owner)
		if want := w.Task == "leaves"; err != nil || o.Gone() != want || w.Retention != run.CompletedRetained {
			t.Errorf("worker %s is %s and %s, %v", w.ID, w.Retention, o, err)
		}
	}
}

func TestUnreadyWorkerIsStale(t *testing.T) {
	r := begun(t, settings(func(s *spec.RunSettings) { s.ReadinessMS = 2000 }), nil, sh("stuck", "exec sleep 60"), sh("other", "touch other"))
	s := planned(r, Plan{Adapter: "claude", Substrate: worker.Tmux, Ready: "never shown"})
	plan := s.Plan
	s.Plan = func(t run.Task, st *run.State) (Plan, error) {
		if t.ID == "other" {
			return Plan{Adapter: command, Command: t.Command}, nil
		}
		return plan(t, st)
	}
	s.Starter.Tmux, s.Starter.Session = tmuxOf(t), "aisync-r1"
	out := worked(t, s)
	if out.Status != run.RunActive || !strings.Contains(out.Reason, "not ready after 2s") {
		t.Errorf("ended %+v", out)
	}
	st := state(t, r)
	w := st.Worker("stuck.1")
	o, err := worker.Observe(process.System(), Folder(r, w.ID), w.Owner)
	if err != nil || w.Retention != run.StaleRegistry || o.State != worker.Running || !st.Task("stuck").Held() || st.Task("other").Status != run.TaskDone {
		t.Errorf("the worker is %s and %s, %v; its task %s, the other %s", w.Retention, o, err, st.Task("stuck").Status, st.Task("other").Status)
	}
	// A person lets it do its work after all.
	if err := r.AddEvidence(st.Task("stuck").Claim.Token, run.Evidence{Kind: "output", Ref: "logs/stuck.1.log", Digest: "sha256:" + strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(st.Task("stuck").Claim.Token); err != nil {
		t.Fatal(err)
	}
	if out := worked(t, s); out.Status != run.RunCompleted {
		t.Errorf("ended %+v", out)
	}
}
