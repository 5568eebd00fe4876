package task

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// keptTree is a kept work tree of a task, or of a run's worker.
type keptTree struct {
	worktree.Kept
	Task   string `json:"task,omitempty"`
	Run    string `json:"run,omitempty"`
	Worker string `json:"worker,omitempty"`
}

// name returns what the tree is of.
func (k keptTree) name() string {
	switch {
	case k.Task != "":
		return k.Task
	case k.Run != "":
		return k.Run + "/" + k.Worker
	}
	return "-"
}

func (k keptTree) called(name string) bool {
	return name == k.name() || name == filepath.Base(k.Dir) || name == k.Branch || name == k.Run && name != "" || filepath.Clean(name) == k.Dir
}

// treesDoc is task trees --json; see docs/json.md.
type treesDoc struct {
	FormatVersion string     `json:"format_version"`
	DryRun        bool       `json:"dry_run"`
	Limit         int        `json:"limit"`
	Trees         []keptTree `json:"trees"`
}

// treesFlags are the flags of task trees.
type treesFlags struct {
	prune, dry, yes bool
	older, dir      string
	force           []string
}

func taskTrees(a *cli.App) *cobra.Command {
	var f treesFlags
	cmd := &cobra.Command{
		Use:   "trees [NAME...]",
		Short: "list the work trees that tasks and runs have left, and prune them",
		Long: `Lists the work trees that tasks and the workers of runs have left, of all
repositories, the oldest first: of what, its branch, the last change, its size,
and what only the tree has. NAME is a task, a run, a worker as RUN/WORKER, a
branch, or a tree's folder or its last part.

--prune removes those without uncommitted content; ignored files count as such.
Branches stay, with their commits, except those whose commits are all on another
branch, a tag or a remote. A tree stays that a task, a run that is not over, a
process or git worktree lock uses, and so does each whose branch is not of aisync.
--force NAME also removes uncommitted content, of the tree that it names; without
a NAME besides, no other tree is removed.

On a terminal it shows what it would do and asks. It exits 1 if a tree that was
to be removed is still there.`,
		Example: `  aisync task trees
  aisync task trees --prune --older 30d --dry-run
  aisync task trees --prune --force fix-docs-20260202-100000`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{"effect": "writes"},
		RunE:        func(cmd *cobra.Command, args []string) error { return trees(cmd.Context(), a, f, args) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.prune, "prune", false, "remove the trees without uncommitted content")
	fs.StringVar(&f.older, "older", "", "prune only trees without a change since `AGE`, such as 30d, 2w or 12h")
	fs.StringArrayVar(&f.force, "force", nil, "prune the tree `NAME` with its uncommitted content; may be repeated")
	fs.BoolVarP(&f.dry, "dry-run", "n", false, "show what --prune would do, and do nothing")
	fs.BoolVar(&f.yes, "yes", false, "do not ask")
	fs.StringVar(&f.dir, "work-trees", "", "look into `DIR` as well, where tasks were run with --work-trees DIR")
	return cmd
}

func trees(ctx context.Context, a *cli.App, f treesFlags, names []string) error {
	age, err := ageOf(f.older)
	if err != nil {
		return err
	}
	if !f.prune && (f.older != "" || len(f.force) > 0 || f.dry) {
		u := cli.Usagef("task trees: --older, --force and --dry-run say what --prune removes")
		u.Advice = "aisync task trees --prune --dry-run"
		return u
	}
	all, err := findTrees(ctx, a, f.dir)
	if err != nil {
		return err
	}
	forced, err := namedTrees(all, f.force)
	if err != nil {
		return err
	}
	if names = append(names, f.force...); len(names) > 0 {
		chosen := slices.DeleteFunc(slices.Clone(all), func(k keptTree) bool { return !slices.ContainsFunc(names, k.called) })
		for _, n := range names {
			if !slices.ContainsFunc(all, func(k keptTree) bool { return k.called(n) }) {
				return advice.Command(fmt.Errorf("no work tree is called %q", n), "aisync task trees")
			}
		}
		all = chosen
	}
	limit, _ := keptLimit(ctx, a)
	work := 0
	if f.prune {
		for i := range all {
			k := &all[i]
			force := slices.Contains(forced, k.Dir)
			if k.Action = "kept"; k.Holds == "" && (force || k.Safe() && cli.Now().Sub(k.Changed) >= age) {
				k.Action, work = "would remove", work+1
			}
		}
	}
	ask := f.prune && !f.dry && work > 0 && a.Terminal() && !f.yes
	if !a.Flags.JSON && (!f.prune || f.dry || work == 0 || ask) {
		printTrees(a, all)
	}
	if ask {
		if err := a.Confirm(false, fmt.Sprintf("Remove %s?", quantity.Count(work, "work tree"))); err != nil {
			return err
		}
	}
	if f.prune && !f.dry && work > 0 {
		err = pruneTrees(ctx, a, all, forced)
		if !a.Flags.JSON {
			printTrees(a, all)
		}
	}
	if a.Flags.JSON {
		return errors.Join(err, a.WriteJSON(treesDoc{cli.ViewVersion, f.dry, limit, append([]keptTree{}, all...)}))
	}
	if n := len(all); !f.prune && len(names) == 0 && n > limit {
		a.Hint("%s are kept, more than %d; to remove those without uncommitted content: aisync task trees --prune --older 30d", quantity.Count(n, "work tree"), limit)
	}
	return err
}

// pruneTrees removes the trees that are to be removed, and notes what became of each.
func pruneTrees(ctx context.Context, a *cli.App, all []keptTree, forced []string) error {
	failed := false
	for i := range all {
		k := &all[i]
		if k.Action != "would remove" {
			continue
		}
		now, err := k.Remove(ctx, slices.Contains(forced, k.Dir), func(now worktree.Kept) string { return holder(a, keptOf(now)) })
		if k.Kept, k.Action = now, "removed"; err != nil {
			k.Action, k.Error, failed = "kept", err.Error(), true
		}
	}
	if failed {
		return cli.Exit(cli.ExitError)
	}
	return nil
}

// namedTrees returns the folders of the trees that --force names, one each.
func namedTrees(all []keptTree, names []string) (dirs []string, err error) {
	for _, n := range names {
		var of []string
		for _, k := range all {
			if k.called(n) {
				of = append(of, k.Dir)
			}
		}
		switch len(of) {
		case 0:
			return nil, advice.Command(fmt.Errorf("--force %s: no work tree is called so", n), "aisync task trees")
		case 1:
			dirs = append(dirs, of[0])
		default:
			return nil, cli.Usagef("--force %s: several work trees are called so, name one: %s", n, strings.Join(of, ", "))
		}
	}
	return dirs, nil
}

func printTrees(a *cli.App, all []keptTree) {
	if len(all) == 0 {
		a.Printf("no work trees are kept\n")
		return
	}
	w := a.Table()
	for _, k := range all {
		what := k.Error
		if what == "" {
			what = k.state()
		}
		if k.Action != "" {
			fmt.Fprintf(w, "%s\t", k.Action)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", termtext.Safe(k.name()), age(cli.Now().Sub(k.Changed)), quantity.Bytes(k.Bytes), termtext.OneLine(what), termtext.Safe(shellquote.Terminal(k.Dir)))
	}
	w.Flush()
}

// state says what only the tree has.
func (k keptTree) state() string {
	var parts []string
	if k.Holds != "" {
		parts = append(parts, "in use: "+k.Holds)
	}
	if k.Uncommitted > 0 {
		parts = append(parts, fmt.Sprintf("%d uncommitted", k.Uncommitted))
	}
	switch {
	case k.Branch == "":
	case k.Commits > 0:
		parts = append(parts, fmt.Sprintf("%s only on %s", quantity.Count(k.Commits, "commit"), k.Branch))
	case k.Holds == "":
		parts = append(parts, "all commits of "+k.Branch+" are elsewhere too")
	}
	return strings.Join(parts, "; ")
}

// age prints a time that has passed, in one unit.
func age(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%dm", max(0, int(d.Minutes())))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// ageOf parses --older.
func ageOf(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	unit := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[s[len(s)-1]]
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || n < 0 || n > 100_000 || unit == 0 {
		return 0, cli.Usagef("--older %q: want an age such as 30d, 2w or 12h", s)
	}
	return time.Duration(n) * unit, nil
}
