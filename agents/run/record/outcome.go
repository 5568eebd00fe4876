package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/schema/spec"
)

// Session returns the work of the agent that s starts, started by the agent by.
func Session(s launch.Start, by string) Work {
	name := cmp.Or(s.ID, launch.Primary)
	return Work{
		Goal: "a session of " + s.Runtime, By: by, Worker: name,
		Task:     spec.RunTask{ID: "session", Goal: fmt.Sprintf("what %s is asked to do by the person who started it", name), Adapter: s.Runtime},
		Register: run.Registration{Adapter: s.Runtime, AgentID: s.ID},
	}
}

// SessionOutcome returns the outcome that the exit code of s's program proves.
// Evidence of the agent's work is for supervised runs.
func SessionOutcome(s launch.Start, code int) Outcome {
	o := Outcome{Status: run.RunCompleted, Evidence: []run.Evidence{{Kind: "command", Name: "session", Command: s.Command[0], ExitCode: &code}}}
	if code != 0 {
		o.Status, o.Reason = run.RunFailed, fmt.Sprintf("%s ended with code %d", s.Runtime, code)
	}
	return o
}

// Task returns the work on task t of a queue in process pid, with an executor of
// that adapter, started by the agent by.
func Task(t spec.Task, adapter, by string, pid int) Work {
	return Work{
		Goal: "task " + t.ID, By: by, Worker: fmt.Sprintf("executor.%d", pid),
		Task:     spec.RunTask{ID: t.ID, Goal: strings.TrimSpace(t.Goal), Evidence: []string{"output:report"}},
		Register: run.Registration{Adapter: adapter},
	}
}

// TaskOutcome returns the outcome that a task's verify commands and a copy of
// its report r prove; nil means that the task was given back.
func TaskOutcome(r *task.Report) Outcome {
	if r == nil {
		return Outcome{Status: run.RunCancelled, Reason: "it was interrupted and returned to its queue"}
	}
	o := Outcome{Status: run.RunCompleted}
	if !r.OK() {
		o.Status, o.Reason = run.RunFailed, cmp.Or(r.Reason, r.Kind)
	}
	for i, v := range r.VerifyResults {
		o.Evidence = append(o.Evidence, run.Evidence{Kind: "command", Name: fmt.Sprintf("verify-%d", i+1), Command: v.Cmd, ExitCode: &v.ExitCode})
	}
	if text, err := json.MarshalIndent(r, "", "  "); err == nil {
		o.Outputs = []Output{{Name: "report", Text: append(text, '\n')}}
	}
	return o
}
