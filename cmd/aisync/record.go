package main

import (
	"cmp"
	"context"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/launch"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/record"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// recordRun records work as a run where the project's spec says agents: runs:
// true, and returns what is to be called when it is over. What cannot be written
// is a warning then, and nothing else: a screen that an agent draws on is not
// written to. The work of a run's worker is recorded already.
func (a *app) recordRun(p *spec.Project, w record.Work) func(record.Outcome) {
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
			a.say("warning: %s is not recorded as a run: %s", termtext.Safe(w.Goal), termtext.Safe(err.Error()))
			if next := advice.Of(err); next != "" {
				a.say("  %s", termtext.Safe(next))
			}
		}
	}
}

// recordSession records the session of the agent that s starts.
func (a *app) recordSession(l *launcher, s launch.Start) (over func(code int)) {
	end := a.recordRun(l.project, record.Session(s, a.env.Get(identity.VarID)))
	return func(code int) { end(record.SessionOutcome(s, code)) }
}

// recordTasks records the tasks of a queue. It is nil where the project's spec
// does not ask for that.
func (a *app) recordTasks(ctx context.Context, q task.Queue, executor string) func(spec.Task) func(*task.Report) {
	s, _, _, err := a.specFor(ctx, q.Dir)
	if err != nil || s.Project == nil || !s.Project.Agents.Runs.On {
		return nil // a spec that cannot be read is told of where it is needed
	}
	return func(t spec.Task) func(*task.Report) {
		end := a.recordRun(s.Project, record.Task(t, cmp.Or(executor, start.Command), a.env.Get(identity.VarID), q.Self.PID))
		return func(r *task.Report) { end(record.TaskOutcome(r)) }
	}
}
