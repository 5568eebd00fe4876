package apply

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// RollbackCommand builds the command rollback.
func RollbackCommand(a *cli.App) *cobra.Command {
	var (
		f     cli.ApplyFlags
		list  bool
		force bool
	)
	cmd := &cobra.Command{
		Use:   "rollback [APPLY]",
		Short: "undo an apply",
		Long: `Undoes the last apply in this project or, outside of one, the last that changed
the host; or the one named APPLY. A file that was not touched since gets its
exact bytes back; in an edited file only aisync's own changes are undone. If an
edit is in the same place, nothing is changed (exit 4), unless --force.

Models and packages stay; rollback names them.`,
		Example:     "  $ aisync rollback --list\n  $ aisync rollback",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),

		ValidArgsFunction: a.Applies,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return history(cmd.Context(), a)
			}
			id := ""
			if len(args) == 1 {
				id = args[0]
			}
			return rollback(cmd.Context(), a, id, force, f)
		},
	}
	f.Register(cmd)
	cmd.Flags().BoolVar(&list, "list", false, "list the applies that can be undone")
	cmd.Flags().BoolVar(&force, "force", false, "undo even where files were edited since (a backup is kept)")
	cmd.Flags().BoolVarP(&f.KeepGoing, "keep-going", "k", false, "skip what is undecided or fails, and do the rest")
	return cmd
}

func rollback(ctx context.Context, a *cli.App, id string, force bool, f cli.ApplyFlags) error {
	mode, err := cli.ParseDiffMode(f.Diff)
	if err != nil {
		return err
	}
	if f.DryRun {
		w, err := a.Loaded(ctx, stack.ScopeAll, stack.LookAtRecords)
		if err != nil {
			return err
		}
		_, _, err = rollbackPlan(ctx, a, w, id, force, mode)
		return err
	}
	w, err := a.Held(ctx, stack.ScopeAll, f.LockTimeout, "aisync rollback", stack.HoldRecords)
	if err != nil {
		return err
	}
	defer w.Release()
	if w.RolledBack != "" && (id == "" || id == w.RolledBack) { // do not undo another one
		a.Printf("The apply %s is undone: this finished the interrupted rollback.\n", w.RolledBack)
		return nil
	}
	p, entry, err := rollbackPlan(ctx, a, w.View, id, force, mode)
	if err != nil {
		return err
	}
	if n := len(p.Undecided()); n > 0 && !f.KeepGoing {
		return fmt.Errorf("%s changed since that apply: %w; nothing was changed; --force restores what was there before, --keep-going does the rest", countWere(n, "resource"), reconcile.ErrUndecided)
	}
	if n := changing(p); n > 0 {
		if err := a.Confirm(f.Yes, "Undo "+theseChanges(n)+"?"); err != nil {
			return err
		}
	}
	return CarryOut(ctx, a, w, p, f, reconcile.ApplyOptions{Command: "rollback", RollbackOf: entry.ID})
}

// rollbackPlan returns the plan that undoes an apply, and shows it.
func rollbackPlan(ctx context.Context, a *cli.App, w *stack.View, id string, force bool, mode cli.DiffMode) (*reconcile.Plan, reconcile.Entry, error) {
	p, entry, err := w.Engine.RollbackPlan(ctx, w.ReadEnv(), w.Store, id, reconcile.Choice{Force: force})
	if err == nil && !a.Flags.JSON {
		a.Printf("Undoing the apply %s\n\n", entry.ID)
		view.NewPlanText(a, w, "aisync rollback", mode).Render(a.Out, view.PlanOf(p, reconcile.PlanMeta{}, w.Explain(ctx)))
	}
	return p, entry, err
}

// ownersOf names the host and the projects that e changed.
func ownersOf(e reconcile.Entry) string {
	var words []string
	for _, o := range e.Owners() {
		word := cmp.Or(o.ProjectDir(), "host")
		if gone, err := vanished(o); gone && err == nil {
			word += " (gone)"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// historyDoc is rollback --list --json; see docs/json.md.
type historyDoc struct {
	FormatVersion string            `json:"format_version"`
	Applies       []reconcile.Entry `json:"applies"`
}

// history lists the applies, the newest first.
func history(ctx context.Context, a *cli.App) error {
	w, err := a.Loaded(ctx, stack.ScopeAll, stack.LookAtRecords)
	if err != nil {
		return err
	}
	entries, err := w.Store.History()
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.WriteJSON(historyDoc{cli.ViewVersion, cli.OrEmpty(entries)})
	}
	for _, e := range entries {
		line := fmt.Sprintf("%s  %s  %s", e.ID, e.Command, quantity.Count(e.Resources, "resource"))
		switch {
		case e.RolledBack != "":
			line += ", undone by " + e.RolledBack
		case e.RollbackOf != "":
			line += ", undid " + e.RollbackOf
		}
		if e.Interrupted {
			line += ", was interrupted"
		}
		line += ": " + ownersOf(e)
		a.Printf("%s\n", termtext.Safe(line))
	}
	if len(entries) == 0 {
		a.Say("aisync: no applies here yet")
	}
	return nil
}
