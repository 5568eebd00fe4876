package launch

import (
	"cmp"
	"context"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/launch"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/record"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// recordRun records work as a run if the project's spec sets agents: runs: true. Call
// the function that it returns with the outcome. Only that function warns about a
// failed write: until then an agent may draw on the screen. It does nothing for a
// worker of a run, whose work is recorded already.
func recordRun(a *cli.App, p *spec.Project, w record.Work) func(record.Outcome) {
	if p == nil || !p.Agents.Runs.On || a.Env.Get(supervise.VarRun) != "" {
		return func(record.Outcome) {}
	}
	home := a.RunHome()
	r := record.Begin(func() (*runs.Store, error) {
		o := runs.Options{Home: home, Check: schema.CheckRun}
		if store, _, err := runs.Init(p.Dir, o); err == nil {
			return store, nil
		}
		return runs.Open(p.Dir, o) // another session may be creating the store; a run needs little of it
	}, w)
	return func(o record.Outcome) {
		if err := r.End(o); err != nil {
			a.Say("warning: %s was not recorded as a run: %s", termtext.Safe(w.Goal), termtext.Safe(err.Error()))
			if next := advice.Of(err); next != "" {
				a.Say("  %s", termtext.Safe(next))
			}
		}
	}
}

// recordSession records the session that s starts. Call over with its exit code.
func recordSession(a *cli.App, l *Launcher, s launch.Start) (over func(code int)) {
	end := recordRun(a, l.project, record.Session(s, a.Env.Get(identity.VarID)))
	return func(code int) { end(record.SessionOutcome(s, code)) }
}

// RecordTasks returns a function that records each task of a queue as a run, or nil
// if the project's spec does not ask for it.
func RecordTasks(ctx context.Context, a *cli.App, q task.Queue, executor string) func(spec.Task) func(*task.Report) {
	s, _, _, err := SpecFor(ctx, a, q.Dir)
	if err != nil || s.Project == nil || !s.Project.Agents.Runs.On {
		return nil // the commands that need the spec report its errors
	}
	return func(t spec.Task) func(*task.Report) {
		end := recordRun(a, s.Project, record.Task(t, cmp.Or(executor, start.Command), a.Env.Get(identity.VarID), q.Self.PID))
		return func(r *task.Report) { end(record.TaskOutcome(r)) }
	}
}
