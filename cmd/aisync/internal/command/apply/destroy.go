package apply

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

// DestroyCommand builds the command destroy.
func DestroyCommand(a *cli.App) *cobra.Command {
	var (
		s     stack.Scope
		f     cli.ApplyFlags
		force bool
	)
	cmd := &cobra.Command{
		Use:   "destroy --scope host|project",
		Short: "uninstall what aisync made, and restore what was there before",
		Long: `Removes what aisync made for the host or the project, and restores what it
replaced. It shows the plan and asks. Files edited since stay, unless --force (a
backup is kept).

The spec stays; aisync apply makes everything again. At the end it names what it
leaves on the machine.`,
		Example:     "  $ aisync destroy --scope project",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s == "" {
				return &cli.UsageError{Text: "destroy: missing --scope host or --scope project (all for both)", Advice: ""}
			}
			return destroy(cmd.Context(), a, s, force, f)
		},
	}
	cli.ScopeFlag(&s, cmd)
	f.Register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "remove edited files too (a backup is kept)")
	cmd.Flags().BoolVarP(&f.KeepGoing, "keep-going", "k", false, "skip what fails, and do the rest")
	return cmd
}

func destroy(ctx context.Context, a *cli.App, s stack.Scope, force bool, f cli.ApplyFlags) error {
	mode, err := cli.ParseDiffMode(f.Diff)
	if err != nil {
		return err
	}
	if f.DryRun {
		w, err := a.Loaded(ctx, s, stack.LookAtRecords)
		if err != nil {
			return err
		}
		_, err = destroyPlan(ctx, a, w, force, mode)
		return err
	}
	w, err := a.Held(ctx, s, f.LockTimeout, "aisync destroy", stack.HoldRecords)
	if err != nil {
		return err
	}
	defer w.Release()
	p, err := destroyPlan(ctx, a, w.View, force, mode)
	if err != nil {
		return err
	}
	if w.Store.Inherited() && w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		a.Say("This project was applied elsewhere and has no records here. What git does not carry (core.hooksPath, links, empty folders) stays; to remove it too, first run: aisync apply")
	}
	if n := changing(p); n > 0 {
		if err := a.Confirm(f.Yes, "Uninstall "+quantity.Count(n, "resource")+"?"); err != nil {
			return err
		}
	}
	if err := CarryOut(ctx, a, w, p, f, reconcile.ApplyOptions{Command: "destroy"}); err != nil {
		return err
	}
	if err := dropLocks(ctx, a, w); err != nil {
		return err
	}
	sayLeft(ctx, a, w)
	return nil
}

// destroyPlan returns the plan that uninstalls all, and shows it.
func destroyPlan(ctx context.Context, a *cli.App, w *stack.View, force bool, mode cli.DiffMode) (*reconcile.Plan, error) {
	p, err := w.Engine.Plan(ctx, w.ReadEnv(), w.Store, reconcile.Input{Owners: w.Owners, Choice: reconcile.Choice{Force: force}, Dropped: "to be uninstalled"})
	if err == nil && !a.Flags.JSON {
		view.NewPlanText(a, w, "aisync destroy", mode).Render(a.Out, view.PlanOf(p, reconcile.PlanMeta{}, w.Explain(ctx)))
	}
	return p, err
}

// dropLocks removes the lock files of owners that have no records left. It keeps a
// lock file that pins a source or a model.
func dropLocks(ctx context.Context, a *cli.App, w *stack.Session) error {
	common := func(p reconcile.Pin) bool { return p.Kind == "catalog" || p.Kind == "aisync" }
	for _, o := range w.Owners {
		l := w.HostLock
		if o != reconcile.HostOwner {
			l = w.ProjectLock
		}
		switch {
		case len(w.Store.Records(o)) > 0 || len(l.Lock.Pins()) == 0:
		case slices.ContainsFunc(l.Lock.Pins(), func(p reconcile.Pin) bool { return !common(p) }):
			a.Hint("%s stays: it pins sources or models.", l.Path)
		default:
			l.Lock.Unpin(func(p reconcile.Pin) bool { return !common(p) })
		}
	}
	return w.SaveLocks(ctx)
}
