package task

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/cleanup"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// findTrees returns the kept work trees, the oldest first.
func findTrees(ctx context.Context, a *cli.App, extra string) (all []keptTree, err error) {
	p, err := a.HostPlaces()
	if err != nil {
		return nil, err
	}
	cwd, err := a.Cwd()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, root := range append(worktree.Roots(p.Physical(p.State), p.Physical(p.Home)), runRoot(cwd, p)) {
		dirs = append(dirs, worktree.Trees(root)...)
	}
	if extra != "" {
		if extra, err = place.ExistingFolder(cwd, extra); err != nil {
			return nil, fmt.Errorf("--work-trees: %w", err)
		}
		dirs = append(dirs, worktree.Trees(extra)...)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		k := keptOf(worktree.Inspect(ctx, dir))
		if k.Holds == "" {
			k.Holds = holder(a, k)
		}
		all = append(all, k)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Changed.Before(all[j].Changed) })
	return all, ctx.Err()
}

// keptLimit returns how many work trees may be kept, and whether the spec says so.
func keptLimit(ctx context.Context, a *cli.App) (limit int, asked bool) {
	var host *spec.Host // an unreadable spec has no say
	if p, err := a.HostPlaces(); err == nil {
		if s, err := a.Machine(p).LoadSpec(ctx, schema.Options{NoHost: func(schema.Problem) {}}); err == nil {
			host = s.Host
		}
	}
	return host.KeptTrees()
}

// runRoot returns the folder in which the runs of the working folder's project put work
// trees, "" for none.
func runRoot(cwd string, p place.Places) string {
	home := p.Physical(p.Home)
	workspace, err := runs.Find(cwd, home)
	if err != nil {
		return ""
	}
	store, err := runs.Open(workspace, runs.Options{Home: home, Check: schema.CheckRun})
	if err != nil {
		return ""
	}
	c, err := store.Config()
	if err != nil {
		return ""
	}
	return c.Settings.WorktreeRoot
}

// keptOf reads from its branch what a tree is of.
func keptOf(k worktree.Kept) keptTree {
	out := keptTree{Kept: k, Task: task.TreeOf(k.Branch)}
	if parts := strings.Split(k.Branch, "/"); len(parts) == 3 && parts[0] == "aisync" {
		out.Run, out.Worker = parts[1], parts[2]
	}
	return out
}

// holder returns why the task or the run of a tree needs it, "" if it does not.
// What cannot be read holds it.
func holder(a *cli.App, k keptTree) string {
	var why string
	var err error
	switch {
	case k.Task != "":
		why, err = task.Holder(k.Repo, k.Task, k.Dir)
	case k.Run != "":
		why, err = runHolder(a, k)
	default:
		return "its branch is of no task and no run"
	}
	if err != nil {
		return err.Error()
	}
	return why
}

func runHolder(a *cli.App, k keptTree) (string, error) {
	store, err := runs.Open(k.Repo, runs.Options{Home: a.RunHome(), Check: schema.CheckRun})
	if err != nil {
		return "", fmt.Errorf("run %s cannot be read: %w", k.Run, err)
	}
	r, err := store.Run(k.Run)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return cleanup.Holder(r, k.Dir)
}

// sayKept acts on the limit of kept work trees after tasks were worked. Where
// the spec sets one, trees of tasks with nothing to lose are removed,
// the oldest first; it warns of what is left beyond it. Its own failure is only
// a warning: the tasks are done.
func sayKept(ctx context.Context, a *cli.App, extra string) {
	p, err := a.HostPlaces()
	if err != nil {
		return
	}
	n := 0
	for _, root := range append(worktree.Roots(p.Physical(p.State), p.Physical(p.Home)), extra) {
		n += len(worktree.Trees(root))
	}
	limit, asked := keptLimit(ctx, a)
	if n <= limit {
		return
	}
	all, err := findTrees(ctx, a, extra)
	if err != nil {
		a.Say("kept work trees: %v", err)
		return
	}
	if asked {
		for i := range all {
			if k := &all[i]; n > limit && k.Task != "" && k.Safe() {
				k.Action = "would remove"
				n--
			}
		}
		_ = pruneTrees(ctx, a, all, nil) // what could not be removed is among what is left
		for _, k := range all {
			if k.Action == "removed" {
				a.Say("removed the work tree of %s, for keptTrees: %d; its branch %s: %s", k.name(), limit, k.Branch, map[bool]string{true: "its commits are elsewhere too", false: "stays"}[k.Commits == 0])
			}
		}
		all = slices.DeleteFunc(all, func(k keptTree) bool { return k.Action == "removed" })
	}
	if len(all) > limit {
		var names []string
		for _, k := range all[:min(3, len(all))] {
			names = append(names, k.name())
		}
		a.Say("warning: %s are kept, more than %d; the oldest are of %s; see: aisync task trees", quantity.Count(len(all), "work tree"), limit, strings.Join(names, ", "))
	}
}
