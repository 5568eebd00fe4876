package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// lockDoc is lock --json; see docs/json.md.
type lockDoc struct {
	FormatVersion string          `json:"format_version"`
	Changes       []string        `json:"changes"` // in words
	Moved         []pin.Diff      `json:"moved"`   // bundle sources, file by file
	Pins          []reconcile.Pin `json:"pins"`
}

// LockCommand builds the command lock.
func LockCommand(a *cli.App) *cobra.Command {
	var (
		s      = stack.ScopeAll
		f      cli.ApplyFlags
		update bool
	)
	cmd := &cobra.Command{
		Use:   "lock [--update [ID...]]",
		Short: "pin sources, models, packages and automatic choices to versions",
		Long: `Resolves what the specs name to a fixed version and writes it to aisync.lock
beside the spec: a git source, and a base that the spec extends, to a commit and
the digest of its files, a model to a commit, size and sha256, quant: "auto" to
a quant, a package to a version. Existing pins stay. --update moves all of them,
or those named, and shows what moved; for a bundle or a base, how its files
differ.

A source in a folder is read as it is. Of one that is a git checkout, the lock
of a project keeps the commit that the project was last made from, so that an
older checkout changes nothing. --update with its name goes back to it on
purpose.

It writes aisync.lock, and fetches git and archive sources into the cache; with
--dry-run it does the latter only, and shows what it would write.`,
		Example: `  $ aisync lock
  $ aisync lock --update rulesets`,
		Annotations: map[string]string{"effect": "writes"},
		RunE: func(cmd *cobra.Command, ids []string) error {
			if len(ids) > 0 && !update {
				return lockIDs(ids[0])
			}
			return lock(cmd.Context(), a, s, f, update, ids)
		},
	}
	cli.ScopeFlag(&s, cmd)
	cmd.Flags().DurationVar(&f.LockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
	cmd.Flags().StringVar(&f.Diff, "diff", string(cli.DiffShort), "`HOW` much of each bundle's difference to show: short, full, none")
	cmd.Flags().BoolVar(&update, "update", false, "move the pins of the sources and models named, or all pins")
	cmd.Flags().BoolVarP(&f.DryRun, "dry-run", "n", false, "show what would be pinned, and write no lock")
	var commit everyproject.CommitFlags
	commit.Register(cmd)
	everyproject.Register(cmd, a, func(ctx context.Context, r *everyproject.Run) error {
		return lockAll(ctx, r, f, commit, update, r.Args)
	})
	return cmd
}

// lockIDs is the error of an id without --update.
func lockIDs(id string) error {
	return &cli.UsageError{Text: fmt.Sprintf("lock: %q: IDs go with --update", termtext.Safe(id)), Advice: "aisync lock --update " + termtext.Safe(id)}
}

func lock(ctx context.Context, a *cli.App, s stack.Scope, f cli.ApplyFlags, update bool, ids []string) error {
	mode, err := cli.ParseDiffMode(f.Diff)
	if err != nil {
		return err
	}
	w, err := a.Held(ctx, s, f.LockTimeout, "aisync lock", stack.Hold)
	if err != nil {
		return err
	}
	defer w.Release()
	move := pin.Update{All: update && len(ids) == 0, IDs: ids}
	moveBases := move
	if s == stack.ScopeProject {
		moveBases = pin.Update{}
	}
	if err := w.FetchBases(moveBases); err != nil {
		return err
	}
	if err := w.Load(ctx); err != nil {
		return cli.InputHint(err)
	}
	if !f.DryRun {
		if err := w.Recover(ctx); err != nil {
			return err
		}
	}
	bases, err := w.BasePins()
	if err != nil {
		return err
	}
	r := w.WritingResolver(pin.Lock)
	r.Update = move
	if err := w.Declare(ctx, r); err != nil {
		return err
	}
	res, err := r.Result()
	if err != nil {
		return err
	}
	res.Changes, res.Diffs = slices.Concat(bases.Changes, res.Changes), slices.Concat(bases.Diffs, res.Diffs)
	res.Unmatched = slices.DeleteFunc(res.Unmatched, func(id string) bool { return s != stack.ScopeProject && !slices.Contains(bases.Unmatched, id) })
	moved, known := w.FolderSources().Update(ctx, r.Update)
	res.Changes = append(res.Changes, moved...)
	res.Unmatched = slices.DeleteFunc(res.Unmatched, func(id string) bool { return slices.Contains(known, id) })
	if len(res.Unmatched) > 0 {
		return fmt.Errorf("lock --update %s: no pin of that name; nothing was changed", res.Unmatched[0])
	}
	for _, f := range w.Locks() {
		if names, ok := r.Sources(f); ok {
			f.KeepSources(names)
		}
	}
	if !f.DryRun {
		if err := w.SaveLocks(ctx); err != nil {
			return err
		}
	}
	var changes []string
	for _, c := range res.Changes {
		changes = append(changes, view.ChangeText(c))
	}
	slices.Sort(changes)
	if a.Flags.JSON {
		doc := lockDoc{FormatVersion: cli.ViewVersion, Changes: cli.OrEmpty(changes), Moved: cli.OrEmpty(res.Diffs), Pins: []reconcile.Pin{}}
		for _, f := range w.Locks() {
			doc.Pins = append(doc.Pins, f.Lock.Pins()...)
		}
		return a.WriteJSON(doc)
	}
	for _, line := range changes {
		a.Printf("%s\n", termtext.Safe(line))
	}
	for _, d := range res.Diffs {
		printSourceDiff(a, d, mode)
	}
	if len(changes) == 0 {
		a.Printf("Everything is pinned already.\n")
	}
	return nil
}
