package apply

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

// lockAll pins in all projects. With ids it moves these, in the projects that pin them.
func lockAll(ctx context.Context, r *everyproject.Run, flags cli.ApplyFlags, f everyproject.CommitFlags, update bool, ids []string) error {
	mode, err := cli.ParseDiffMode(flags.Diff)
	if err != nil {
		return err
	}
	if len(ids) > 0 && !update {
		return lockIDs(ids[0])
	}
	if flags.DryRun { // which commits nothing
		f = everyproject.CommitFlags{}
	}
	commits, err := r.Commits(f)
	if err != nil {
		return err
	}
	list := r.List
	pinned := map[string][]string{}
	if len(ids) > 0 {
		if list, pinned, err = pinning(r.List, ids); err != nil {
			return err
		}
	}
	results, err := r.Write(ctx, list, commits, func(projects.Project) []string { return nil }, func(p projects.Project) []string {
		return r.Command([]string{"diff"}, pinned[p.Dir], "--json", "--scope=project")
	})
	if err != nil {
		return err
	}
	docs := map[*everyproject.Result]lockDoc{}
	var groups everyproject.Groups
	for _, x := range results {
		var doc lockDoc
		if x.Failed == "" {
			if err := everyproject.Decode(x.Answer, &doc); err != nil {
				x.Failed = err.Error()
			}
		}
		docs[x] = doc
		for _, line := range doc.Changes {
			groups.Add(x.Name, everyproject.Change{Word: string(reconcile.Update), What: line})
		}
		for _, d := range doc.Moved {
			for _, file := range d.Files {
				groups.Add(x.Name, everyproject.Change{Word: file.Action, What: d.Source + ": " + file.File, Lines: view.DiffLinesOf(file.Diff)})
			}
		}
	}
	if len(groups.Sorted()) == 0 && !r.App.Flags.JSON && everyproject.Exit(results) == nil {
		r.App.Printf("Everything is pinned already in %s.\n", quantity.Count(len(results), "project"))
		return nil
	}
	if !r.App.Flags.JSON {
		title := "What moved"
		if flags.DryRun {
			title = "What would move"
		}
		groups.Print(r, title, len(results), mode, everyproject.Sign)
	}
	done := "Pinned"
	if flags.DryRun {
		done = "To be pinned"
	}
	if err := r.Print(results, done, func(x *everyproject.Result) string {
		if n := len(docs[x].Changes); n > 0 {
			return quantity.Count(n, "pin")
		}
		return ""
	}); err != nil {
		return err
	}
	return everyproject.Exit(results)
}

// pinning returns the projects of list whose lock has a pin of one of ids, and which of
// ids each has. An id that none has is an error. A lock that cannot be read counts as
// one that has all of them: the command says what is wrong with it.
func pinning(list []projects.Project, ids []string) ([]projects.Project, map[string][]string, error) {
	var out []projects.Project
	had, has := map[string]bool{}, map[string][]string{}
	for _, p := range list {
		lock, err := pin.ReadFile(filepath.Join(p.Dir, stack.LockName))
		for _, id := range ids {
			if err != nil || slices.ContainsFunc(lock.Lock.Pins(), func(x reconcile.Pin) bool { return x.Name == id }) {
				has[p.Dir] = append(has[p.Dir], id)
				had[id] = true
			}
		}
		if len(has[p.Dir]) > 0 {
			out = append(out, p)
		}
	}
	for _, id := range ids {
		if !had[id] {
			return nil, nil, fmt.Errorf("lock --update %s: no project has a pin of that name; nothing was changed", strings.ToValidUTF8(id, "?"))
		}
	}
	return out, has, nil
}
