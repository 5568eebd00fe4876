package task

import (
	"context"
	"slices"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/task/sandbox"
	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/internal/nearest"
)

// taskExecutor is what does the steps of tasks that say in words what to
// change: the executor called name, or for "" the one that fits each task. repo
// is what no program may see of where the tasks are from.
func taskExecutor(ctx context.Context, a *cli.App, name, repo string) (task.Executor, error) {
	s, index, p, err := launchcmd.SpecFor(ctx, a, repo)
	if err != nil {
		return nil, err
	}
	hide := []string{repo}
	if r, err := worktree.Open(ctx, repo); err == nil { // else no task is carried out
		hide = append(hide, r.Common())
	}
	path := a.Env.Get("PATH")
	look := func(name string) string {
		at, _ := launch.LookPath(name, path)
		return at
	}
	tasks := start.Tasks{
		Machine: launchcmd.Programs(a, p), Host: s.Host, Known: index, Loopback: endpoint.Loopback, Hide: hide,
		Show: sandbox.Toolchains(p.Physical(p.Home), path), Folders: func(program string) []string { return sandbox.ProgramFolders(program, look) },
	}
	c := tasks.Choice()
	if name == "" {
		return c, nil
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
		return nil, nearest.Unknown("executor", name, known)
	}
	return c, nil
}
