package supervise

import (
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// A question that an agent asks while it works is told once, with the window to
// answer it in.
func TestLateQuestionIsToldOnce(t *testing.T) {
	s := Supervisor{said: map[string]bool{}}
	task := &run.Task{RunTask: spec.RunTask{ID: "greet"}}
	w := &run.Worker{ID: "greet.1"}
	at := time.Now()
	o := worker.Observation{
		State: worker.Running, Keeper: worker.Here, Ready: &worker.Ready{At: at},
		Ticket: &worker.Ticket{Keeper: &worker.Identity{PID: 7}, Pane: &worker.Pane{Socket: "/tmp/s", ID: "%3"}},
	}
	s.reportQuestion(w, task, o)
	o.Asks = &worker.Asks{Text: "Trust this folder?", At: at.Add(time.Second)}
	s.reportQuestion(w, task, o) // of its start: another report
	if len(s.lines) > 0 {
		t.Errorf("told: %q", s.lines)
	}
	o.Asks = &worker.Asks{Text: "Run ls?", At: at.Add(time.Hour)}
	s.reportQuestion(w, task, o)
	s.reportQuestion(w, task, o)
	if len(s.lines) != 1 || !strings.Contains(s.lines[0], `greet: worker greet.1 is waiting for an answer to "Run ls?" as process 7, since `) || !strings.HasSuffix(s.lines[0], "answer in its window: tmux -S /tmp/s attach -t %3") {
		t.Errorf("told: %q", s.lines)
	}
	o.Asks = &worker.Asks{Text: "Run ls?", At: at.Add(2 * time.Hour)} // again
	if s.reportQuestion(w, task, o); len(s.lines) != 2 {
		t.Errorf("told: %q", s.lines)
	}
}
