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
		Short: "uninstall everything of an owner, and put back what was there before",
		Long: `Takes away what aisync made for the host or for the project, puts back what it
replaced, and leaves what was there before. It shows what it would do and asks.
What was edited since is left to you, unless --force (a backup is kept).

The spec stays; aisync apply makes everything anew.`,
		Example:     "  $ aisync destroy --scope project",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s == "" {
				return &cli.UsageError{Text: "destroy: say of what: --scope host or --scope project (all for both)", Advice: ""}
			}
			return destroy(cmd.Context(), a, s, force, f)
		},
	}
	cli.ScopeFlag(&s, cmd)
	f.Register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also what was edited since (a backup is kept)")
	cmd.Flags().BoolVarP(&f.KeepGoing, "keep-going", "k", false, "leave what fails, and do the rest")
	return cmd
}

func destroy(ctx context.Context, a *cli.App, s stack.Scope, force bool, f cli.ApplyFlags) error {
	mode, err := cli.ParseDiffMode(f.Diff)
	if err != nil {
		return err
	}
	w, err := a.Held(ctx, s, f.LockTimeout, "aisync destroy", stack.HoldRecords)
	if err != nil {
		return err
	}
	defer w.Release()
	p, err := w.Engine.Plan(ctx, w.ReadEnv(), w.Store, reconcile.Input{Owners: w.Owners, Choice: reconcile.Choice{Force: force}, Dropped: "to be uninstalled"})
	if err != nil {
		return err
	}
	if !a.Flags.JSON {
		view.NewPlanText(a, w.View, "aisync destroy", mode).Render(a.Out, view.PlanOf(p, reconcile.PlanMeta{}, w.Explain(ctx)))
	}
	if w.Store.Inherited() && w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		a.Say("This project was applied elsewhere, and nothing about it is on record here. What git does not carry (core.hooksPath, links, folders that are empty) stays; to have it go too, run aisync apply first, which takes it over.")
	}
	if n := changing(p); n > 0 {
		if err := a.Confirm(f.Yes, "Uninstall "+quantity.Count(n, "resource")+"?"); err != nil {
			return err
		}
	}
	if err := CarryOut(ctx, a, w, p, f, reconcile.ApplyOptions{Command: "destroy"}); err != nil {
		return err
	}
	return dropLocks(ctx, a, w)
}

// dropLocks takes away the locks of owners that have nothing left, unless a
// lock says what a source or a model was pinned to: that is worth keeping.
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
			a.Hint("%s stays: it holds what sources and models are pinned to.", l.Path)
		default:
			l.Lock.Unpin(func(p reconcile.Pin) bool { return !common(p) })
		}
	}
	return w.SaveLocks(ctx)
}
