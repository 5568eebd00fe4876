package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

func destroyCommand(a *app) *cobra.Command {
	var (
		s     Scope
		f     applyFlags
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
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s == "" {
				return &usageError{"destroy: say of what: --scope host or --scope project (all for both)", ""}
			}
			return a.destroy(cmd.Context(), s, force, f)
		},
	}
	s.flag(cmd)
	f.register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also what was edited since (a backup is kept)")
	cmd.Flags().BoolVarP(&f.keepGoing, "keep-going", "k", false, "leave what fails, and do the rest")
	return cmd
}

func (a *app) destroy(ctx context.Context, s Scope, force bool, f applyFlags) error {
	mode, err := parseDiffMode(f.diff)
	if err != nil {
		return err
	}
	w, err := a.held(ctx, s, f.lockTimeout, "aisync destroy", HoldRecords)
	if err != nil {
		return err
	}
	defer w.Release()
	p, err := w.Engine.Plan(ctx, w.ReadEnv(), w.Store, reconcile.Input{Owners: w.Owners, Choice: reconcile.Choice{Force: force}, Dropped: "to be uninstalled"})
	if err != nil {
		return err
	}
	if !a.g.json {
		a.planText(w.View, "aisync destroy", mode).render(a.out, newPlanView(p, reconcile.PlanMeta{}, w.Explain(ctx)))
	}
	if w.Store.Inherited() && w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		a.say("This project was applied elsewhere, and nothing about it is on record here. What git does not carry (core.hooksPath, links, folders that are empty) stays; to have it go too, run aisync apply first, which takes it over.")
	}
	if n := changing(p); n > 0 {
		if err := a.confirm(f.yes, "Uninstall "+quantity.Count(n, "resource")+"?"); err != nil {
			return err
		}
	}
	if err := a.carryOut(ctx, w, p, f, reconcile.ApplyOptions{Command: "destroy"}); err != nil {
		return err
	}
	return a.dropLocks(ctx, w)
}

// dropLocks takes away the locks of owners that have nothing left, unless a
// lock says what a source or a model was pinned to: that is worth keeping.
func (a *app) dropLocks(ctx context.Context, w *Session) error {
	common := func(p reconcile.Pin) bool { return p.Kind == "catalog" || p.Kind == "aisync" }
	for _, o := range w.Owners {
		l := w.HostLock
		if o != reconcile.HostOwner {
			l = w.ProjectLock
		}
		switch {
		case len(w.Store.Records(o)) > 0 || len(l.Lock.Pins()) == 0:
		case slices.ContainsFunc(l.Lock.Pins(), func(p reconcile.Pin) bool { return !common(p) }):
			a.hint("%s stays: it holds what sources and models are pinned to.", l.Path)
		default:
			l.Lock.Unpin(func(p reconcile.Pin) bool { return !common(p) })
		}
	}
	return w.saveLocks(ctx)
}
