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

// Session is the session of the agent that s starts, by the agent of the id by.
func Session(s launch.Start, by string) Work {
	name := cmp.Or(s.ID, launch.Primary)
	return Work{
		Goal: "a session of " + s.Runtime, By: by, Worker: name,
		Task:     spec.RunTask{ID: "session", Goal: fmt.Sprintf("what %s is asked to do by the person who started it", name), Adapter: s.Runtime},
		Register: run.Registration{Adapter: s.Runtime, AgentID: s.ID},
	}
}

// SessionOutcome is proved by how the program of s ended: what the agent did is
// for the evidence of a supervised run.
func SessionOutcome(s launch.Start, code int) Outcome {
	o := Outcome{Status: run.RunCompleted, Evidence: []run.Evidence{{Kind: "command", Name: "session", Command: s.Command[0], ExitCode: &code}}}
	if code != 0 {
		o.Status, o.Reason = run.RunFailed, fmt.Sprintf("%s ended with code %d", s.Runtime, code)
	}
	return o
}

// Task is the task t of a queue, which the process pid works with an executor of
// that adapter, by the agent of the id by.
func Task(t spec.Task, adapter, by string, pid int) Work {
	return Work{
		Goal: "task " + t.ID, By: by, Worker: fmt.Sprintf("executor.%d", pid),
		Task:     spec.RunTask{ID: t.ID, Goal: strings.TrimSpace(t.Goal), Evidence: []string{"output:report"}},
		Register: run.Registration{Adapter: adapter},
	}
}

// TaskOutcome is proved by the verify commands of a task and a copy of its
// report r; nil means that the task was given back.
func TaskOutcome(r *task.Report) Outcome {
	if r == nil {
		return Outcome{Status: run.RunCancelled, Reason: "it was interrupted, and given back to its queue"}
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
