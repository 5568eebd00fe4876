package launch

import (
	"context"

	"aisync.dev/aisync/agents/brief"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// briefOf returns the brief of the agent that d starts.
func briefOf(ctx context.Context, a *cli.App, l *Launcher, d launch.Decision) brief.Brief {
	id := "" // the primary's
	if d.Recover != nil {
		id = d.Recover.ID
	}
	look := brief.Look{
		Root: l.root, Home: l.places.Physical(l.places.Home), Context: session.ByID(l.root, id), Runtimes: l.catalog.Runtimes(),
		Environ: a.Env.List(), Getenv: a.Env.Get,
	}
	if known, err := ledger.Find(l.root); err == nil {
		known.Leases = a.Leases(known.Root)
		look.Ledger = known
	}
	items, _ := task.Queue{Dir: l.root}.List() // a queue that cannot be read has no task at hand
	for _, i := range items {
		if i.State == task.Running {
			look.Tasks = append(look.Tasks, i.Name()+": "+i.Task.Goal)
		}
	}
	return brief.Of(ctx, look)
}
