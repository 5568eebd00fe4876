package task

import (
	"context"
	"slices"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// taskExecutor returns the executor of steps written in words: the one called name, or
// for "" the one that fits each task; and the host, nil without a spec. repo is hidden
// from the programs that it runs.
func taskExecutor(ctx context.Context, a *cli.App, name, repo string) (task.Executor, *spec.Host, error) {
	s, index, p, err := launchcmd.SpecFor(ctx, a, repo)
	if err != nil {
		return nil, nil, err
	}
	hide := []string{repo}
	if r, err := worktree.Open(ctx, repo); err == nil { // without a repository no task runs
		hide = append(hide, r.Common())
	}
	tasks := launchcmd.Tasks(a, p, s.Host, index)
	tasks.Hide = hide
	c := tasks.Choice()
	if name == "" {
		return c, s.Host, nil
	}
	c.Only = name
	if rt, ok := index.Find(name); ok {
		c.Only = rt.ID
	}
	var known []string
	for _, one := range c.Candidates {
		known = append(known, one.Name)
	}
	if !slices.Contains(known, c.Only) {
		return nil, nil, nearest.Unknown("executor", name, known)
	}
	return c, s.Host, nil
}
