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
		Short: "put back what an apply replaced",
		Long: `Takes back the last apply that was made in this project or, outside of one, the
last that changed something of the host; or the one that is named. A file that nobody touched
since gets back its exact bytes; in one that was changed since, only what aisync
wrote is taken back. What somebody changed in the very same place is left alone,
and nothing at all is done (exit 4), unless --force.

Models and packages stay; they are named.`,
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
	cmd.Flags().BoolVar(&list, "list", false, "show the applies that can be taken back")
	cmd.Flags().BoolVar(&force, "force", false, "put back even what somebody changed since (a backup is kept)")
	cmd.Flags().BoolVarP(&f.KeepGoing, "keep-going", "k", false, "leave what is undecided or fails, and do the rest")
	return cmd
}

func rollback(ctx context.Context, a *cli.App, id string, force bool, f cli.ApplyFlags) error {
	mode, err := cli.ParseDiffMode(f.Diff)
	if err != nil {
		return err
	}
	w, err := a.Held(ctx, stack.ScopeAll, f.LockTimeout, "aisync rollback", stack.HoldRecords)
	if err != nil {
		return err
	}
	defer w.Release()
	if w.TookBack != "" && (id == "" || id == w.TookBack) { // and not one more
		a.Printf("The apply %s is taken back: the rollback that was interrupted had done all of it.\n", w.TookBack)
		return nil
	}
	p, entry, err := w.Engine.RollbackPlan(ctx, w.ReadEnv(), w.Store, id, reconcile.Choice{Force: force})
	if err != nil {
		return err
	}
	if !a.Flags.JSON {
		a.Printf("Taking back the apply %s\n\n", entry.ID)
		view.NewPlanText(a, w.View, "aisync rollback", mode).Render(a.Out, view.PlanOf(p, reconcile.PlanMeta{}, w.Explain(ctx)))
	}
	if n := len(p.Undecided()); n > 0 && !f.KeepGoing {
		return fmt.Errorf("%s changed since that apply: %w; nothing was changed; --force puts back what was there before, --keep-going does the rest", was(n, "resource"), reconcile.ErrUndecided)
	}
	if n := changing(p); n > 0 {
		if err := a.Confirm(f.Yes, "Take back "+theseChanges(n)+"?"); err != nil {
			return err
		}
	}
	return CarryOut(ctx, a, w, p, f, reconcile.ApplyOptions{Command: "rollback", RollbackOf: entry.ID})
}

// whose names the host and the projects of which e changed something.
func whose(e reconcile.Entry) string {
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
			line += ", taken back by " + e.RolledBack
		case e.RollbackOf != "":
			line += ", took back " + e.RollbackOf
		}
		if e.Interrupted {
			line += ", was interrupted"
		}
		line += ": " + whose(e)
		a.Printf("%s\n", termtext.Safe(line))
	}
	if len(entries) == 0 {
		a.Say("aisync: nothing was applied here yet")
	}
	return nil
}
