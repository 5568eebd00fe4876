package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/cleanup"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// cleanupDoc is run cleanup --json; see docs/json.md.
type cleanupDoc struct {
	FormatVersion string         `json:"format_version"`
	DryRun        bool           `json:"dry_run"`
	Items         []cleanup.Item `json:"items"`
	Worktrees     []cleanup.Left `json:"worktrees"`
}

func runCleanupCommand(a *cli.App) *cobra.Command {
	var safe, dry, retained, yes bool
	cmd := &cobra.Command{
		Use:   "cleanup --safe [RUN...]",
		Short: "end finished workers of runs and remove their expired logs",
		Long: `Ends workers that are safe-to-close and whose process or pane is verified to be
the one started for them, by its number, start time, boot, command line and
marker. If it is gone already, cleanup records that. It removes the logs of
finished runs that are older than retainLogsDays in the config and not named as
evidence. To end workers at work: aisync run stop.

It never touches running workers, workers started by others or in doubt, nor
.kapi, worktrees, branches, evidence, events, learning or the folder of a run.
It lists work trees that workers left, with the commands that remove them.
--retained also ends workers that are kept for inspection. Without RUN it checks
all runs.

On a terminal it shows what it would do and asks. It exits 1 if something could
not be closed.`,
		Example: `  $ aisync run cleanup --safe --dry-run
  $ aisync run cleanup --safe
  $ aisync run cleanup --safe --retained r-20261121-074744-3fa9`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !safe && !dry {
				u := cli.Usagef("cleanup: missing --safe, which confirms that only finished, verified workers end")
				u.Advice = "aisync run cleanup --safe --dry-run"
				return u
			}
			return cleanUp(cmd.Context(), a, cleanup.Cleaner{Table: process.System(), Retained: retained}, args, dry, yes)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&safe, "safe", false, "required without --dry-run: end only finished, verified workers")
	fs.BoolVarP(&dry, "dry-run", "n", false, "show what it would do, and why it keeps the rest")
	fs.BoolVar(&retained, "retained", false, "end workers that are kept for inspection, too")
	fs.BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// toClean is a run with what to do about its workers and logs.
type toClean struct {
	run   *runs.Run
	items []cleanup.Item
	left  []cleanup.Left
}

func cleanUp(ctx context.Context, a *cli.App, c cleanup.Cleaner, ids []string, dry, yes bool) error {
	all, unread := lookAtRuns(a, c, ids)
	defer func() {
		for _, t := range all {
			t.run.Close()
		}
	}()
	work := 0
	for _, t := range all {
		for _, i := range t.items {
			if i.Action != cleanup.Keep {
				work++
			}
		}
	}
	if !a.Flags.JSON && (dry || a.Terminal() && !yes || work == 0) {
		printCleanup(a, all)
	}
	if !dry && work > 0 {
		if a.Terminal() && !yes {
			if err := a.Confirm(false, fmt.Sprintf("Do this (%s)?", quantity.Count(work, "thing"))); err != nil {
				return err
			}
		}
		for _, t := range all {
			if err := c.Do(ctx, t.run, t.items); err != nil {
				unread = errors.Join(unread, fmt.Errorf("run %s: %w", t.run.ID, err))
			}
		}
		if !a.Flags.JSON {
			printCleanup(a, all)
		}
	}
	if a.Flags.JSON {
		doc := cleanupDoc{FormatVersion: cli.ViewVersion, DryRun: dry, Items: []cleanup.Item{}, Worktrees: []cleanup.Left{}}
		for _, t := range all {
			doc.Items, doc.Worktrees = append(doc.Items, t.items...), append(doc.Worktrees, t.left...)
		}
		return errors.Join(unread, a.WriteJSON(doc))
	}
	sayTrees(a, all)
	return unread
}

// lookAtRuns returns what to do for each run, and the errors of unreadable ones.
func lookAtRuns(a *cli.App, c cleanup.Cleaner, ids []string) (all []toClean, unread error) {
	store, err := openRuns(a)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		if ids, _, err = store.Runs(); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Compact(ids) {
		r, err := store.Run(id)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		items, err := c.Look(r)
		var left []cleanup.Left
		if err == nil {
			left, err = cleanup.Trees(r)
		}
		if err != nil {
			unread = errors.Join(unread, err)
			r.Close()
			continue
		}
		all = append(all, toClean{r, items, left})
	}
	return all, unread
}

// cleanupWords names each action before and after it is done.
var cleanupWords = map[string][2]string{
	cleanup.Keep: {"keep", "kept"}, cleanup.Close: {"close", "closed"}, cleanup.Note: {"note closed", "noted closed"}, cleanup.Remove: {"remove log", "removed log"},
}

func printCleanup(a *cli.App, all []toClean) {
	w := a.Table()
	n := 0
	for _, t := range all {
		for _, i := range t.items {
			word, why := cleanupWords[i.Action][0], i.Why
			if i.Done {
				word = cleanupWords[i.Action][1]
			}
			if i.Error != "" {
				word, why = "not closed", i.Error
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", word, i.Run, i.Worker, termtext.Safe(why))
			n++
		}
	}
	w.Flush()
	if n == 0 {
		a.Printf("nothing to clean up\n")
	}
}

// sayTrees lists the work trees that are left, with the commands that remove them.
func sayTrees(a *cli.App, all []toClean) {
	for _, t := range all {
		for i, l := range t.left {
			if i == 0 {
				a.Say("work trees of run %s stay; aisync task trees %s says what only they have, and with --prune removes the others. To remove one with its branch, after merging what you need:", t.run.ID, t.run.ID)
			}
			git := "git -C " + shellquote.Terminal(t.run.Workspace())
			a.Say("  %s worktree remove %s && %s branch -d %s", termtext.Safe(git), termtext.Safe(shellquote.Terminal(l.Dir)), termtext.Safe(git), termtext.Safe(shellquote.Terminal(l.Branch)))
		}
	}
}
