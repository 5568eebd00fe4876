package record

import (
	"strings"
	"testing"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/schema/spec"
)

func TestSessionOutcomeIsExitCode(t *testing.T) {
	s := launch.Start{Runtime: "codex", ID: "me.app.codex.1f3a", Command: []string{"codex", "--secret=x"}}
	w := Session(s, "other")
	if w.Worker != s.ID || w.By != "other" || w.Register.Adapter != "codex" || w.Register.AgentID != s.ID {
		t.Errorf("%+v", w)
	}
	if w := Session(launch.Start{Runtime: "codex"}, ""); w.Worker != launch.Primary || w.Register.AgentID != "" {
		t.Errorf("of the primary: %+v", w)
	}
	for code, want := range map[int]string{0: run.RunCompleted, 3: run.RunFailed} {
		o := SessionOutcome(s, code)
		if o.Status != want || o.Evidence[0].Command != "codex" || *o.Evidence[0].ExitCode != code || (o.Reason != "") != (code != 0) {
			t.Errorf("%d: %+v", code, o)
		}
	}
}

func TestTaskOutcomeHasChecksAndReport(t *testing.T) {
	w := Task(spec.Task{ID: "one", Goal: " do it\n"}, "endpoint", "me", 7)
	if w.Goal != "task one" || w.Task.Goal != "do it" || w.Worker != "executor.7" || w.Register.Adapter != "endpoint" {
		t.Errorf("%+v", w)
	}
	if o := TaskOutcome(nil); o.Status != run.RunCancelled {
		t.Errorf("given back: %+v", o)
	}
	r := &task.Report{TaskID: "one", Status: "done", VerifyResults: []task.Result{{Cmd: "make", ExitCode: 0}, {Cmd: "true", ExitCode: 1}}}
	o := TaskOutcome(r)
	if o.Status != run.RunCompleted || len(o.Evidence) != 2 || o.Evidence[1].Name != "verify-2" || *o.Evidence[1].ExitCode != 1 || !strings.Contains(string(o.Outputs[0].Text), `"task_id": "one"`) {
		t.Errorf("done: %+v", o)
	}
	r.Status, r.Kind = "failed", "verify"
	if o := TaskOutcome(r); o.Status != run.RunFailed || o.Reason != "verify" {
		t.Errorf("failed: %+v", o)
	}
}
