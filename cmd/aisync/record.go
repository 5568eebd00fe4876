package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/launch"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/record"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// inBooks writes down work where the project's spec says agents: runs: true, and
// returns what says that it is over. What cannot be written is a warning then, and
// nothing else: a screen that an agent draws on is not written to. A worker of a
// run is in the books already.
func (a *app) inBooks(p *spec.Project, w record.Work) func(record.Outcome) {
	if p == nil || !p.Agents.Runs.On || a.env.Get(supervise.VarRun) != "" {
		return func(record.Outcome) {}
	}
	home := a.runHome()
	r := record.Begin(func() (*runs.Store, error) {
		o := runs.Options{Home: home, Check: schema.CheckRun}
		if store, _, err := runs.Init(p.Dir, o); err == nil {
			return store, nil
		}
		return runs.Open(p.Dir, o) // another session may be laying it out; a run needs little of it
	}, w)
	return func(o record.Outcome) {
		if err := r.End(o); err != nil {
			a.say("warning: %s is not recorded as a run: %s", safe(w.Goal), safe(err.Error()))
			if next := advice.Of(err); next != "" {
				a.say("  %s", safe(next))
			}
		}
	}
}

// recordSession records a session of an agent. It is proved by how its program
// ended: what the agent did is for the evidence of a supervised run.
func (a *app) recordSession(l *launcher, d launch.Decision, s launch.Start) (over func(code int)) {
	name := cmp.Or(d.ID, launch.Primary)
	end := a.inBooks(l.project, record.Work{
		Goal: "a session of " + s.Runtime, By: a.env.Get(identity.VarID), Worker: name,
		Task:     spec.RunTask{ID: "session", Goal: fmt.Sprintf("what %s is asked to do by the person who started it", name), Adapter: s.Runtime},
		Register: runs.Registration{Adapter: s.Runtime, AgentID: d.ID},
	})
	return func(code int) {
		o := record.Outcome{Status: runs.RunCompleted, Evidence: []runs.Evidence{{Kind: "command", Name: "session", Command: strings.Join(s.Command[:1], " "), ExitCode: &code}}}
		if code != 0 {
			o.Status, o.Reason = runs.RunFailed, fmt.Sprintf("%s ended with code %d", s.Runtime, code)
		}
		end(o)
	}
}

// recordTasks records tasks of a queue: each by its verify commands and a copy of
// its report. It is nil where nobody asked for that.
func (a *app) recordTasks(ctx context.Context, q task.Queue, executor string) func(spec.Task) func(*task.Report) {
	s, _, _, err := a.specFor(ctx, q.Dir)
	if err != nil || s.Project == nil || !s.Project.Agents.Runs.On {
		return nil // a spec that cannot be read is told of where it is needed
	}
	return func(t spec.Task) func(*task.Report) {
		end := a.inBooks(s.Project, record.Work{
			Goal: "task " + t.ID, By: a.env.Get(identity.VarID), Worker: fmt.Sprintf("executor.%d", q.Self.PID),
			Task:     spec.RunTask{ID: t.ID, Goal: strings.TrimSpace(t.Goal), Evidence: []string{"output:report"}},
			Register: runs.Registration{Adapter: cmp.Or(executor, adapterCommand)},
		})
		return func(r *task.Report) { end(taskOutcome(r)) }
	}
}

// taskOutcome is what a report proves; none means that the task was given back.
func taskOutcome(r *task.Report) record.Outcome {
	if r == nil {
		return record.Outcome{Status: runs.RunCancelled, Reason: "it was interrupted, and given back to its queue"}
	}
	o := record.Outcome{Status: runs.RunCompleted}
	if !r.OK() {
		o.Status, o.Reason = runs.RunFailed, cmp.Or(r.Reason, r.Kind)
	}
	for i, v := range r.VerifyResults {
		o.Evidence = append(o.Evidence, runs.Evidence{Kind: "command", Name: fmt.Sprintf("verify-%d", i+1), Command: v.Cmd, ExitCode: &v.ExitCode})
	}
	if text, err := json.MarshalIndent(r, "", "  "); err == nil {
		o.Outputs = []record.Output{{Name: "report", Text: append(text, '\n')}}
	}
	return o
}
