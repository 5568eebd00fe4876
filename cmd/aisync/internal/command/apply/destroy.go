package apply

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

// DestroyCommand builds the command destroy.
func DestroyCommand(a *cli.App) *cobra.Command {
	var (
		s      stack.Scope
		f      cli.ApplyFlags
		force  bool
		commit everyproject.CommitFlags
	)
	cmd := &cobra.Command{
		Use:   "destroy --scope host|project",
		Short: "uninstall what aisync made, and restore what was there before",
		Long: `Removes what aisync made for the host or the project, and restores what it
replaced. It shows the plan and asks. Files edited since stay, unless --force (a
backup is kept).

The spec stays; aisync apply makes everything again. At the end it names what it
leaves on the machine.`,
		Example:     "  $ aisync destroy --scope project\n  $ aisync destroy --all --filter 'old/*' --dry-run",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s == "" {
				return &cli.UsageError{Text: "destroy: missing --scope host or --scope project (all for both)", Advice: ""}
			}
			if f.DryRun {
				return planDestroy(cmd.Context(), a, s, force, f.Diff)
			}
			return destroy(cmd.Context(), a, s, force, f)
		},
	}
	cli.ScopeFlag(&s, cmd)
	f.Register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "remove edited files too (a backup is kept)")
	cmd.Flags().BoolVarP(&f.KeepGoing, "keep-going", "k", false, "skip what fails, and do the rest")
	commit.Register(cmd)
	everyproject.Register(cmd, a, func(ctx context.Context, r *everyproject.Run) error {
		return destroyAll(ctx, r, applyAllFlags{f, commit}, f.DryRun)
	})
	return cmd
}

// planDestroy shows what destroy would do.
func planDestroy(ctx context.Context, a *cli.App, s stack.Scope, force bool, diff string) error {
	mode, err := cli.ParseDiffMode(diff)
	if err != nil {
		return err
	}
	v, err := a.Loaded(ctx, s, stack.LookAtRecords)
	if err != nil {
		return err
	}
	p, err := v.Engine.Plan(ctx, v.ReadEnv(), v.Store, toUninstall(v.Owners, force))
	if err != nil {
		return err
	}
	shown := view.PlanOf(p, reconcile.PlanMeta{}, v.Explain(ctx))
	if a.Flags.JSON {
		return a.WriteJSON(shown)
	}
	view.NewPlanText(a, v, "aisync destroy", mode).Render(a.Out, shown)
	return nil
}

// toUninstall asks for a plan that uninstalls everything of owners.
func toUninstall(owners []reconcile.Owner, force bool) reconcile.Input {
	return reconcile.Input{Owners: owners, Choice: reconcile.Choice{Force: force}, Dropped: "to be uninstalled"}
}

// destroyAll uninstalls the projects, after one question.
func destroyAll(ctx context.Context, r *everyproject.Run, f applyAllFlags, dryRun bool) error {
	commits, err := r.Commits(f.commit)
	if err != nil {
		return err
	}
	p := &applying{run: r, flags: f, commits: commits, verb: "Uninstall", past: "Uninstalled"}
	p.look = r.Command([]string{"dry-run", "parallel", "lock-timeout", "keep-going"}, nil, "--json", "--scope=project", "--dry-run")
	p.words = func(int, *everyproject.Planned) ([]string, error) {
		return r.Command([]string{"diff"}, nil, "--json", "--yes", "--scope=project"), nil
	}
	return p.do(ctx, "What is removed", dryRun)
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
	p, err := w.Engine.Plan(ctx, w.ReadEnv(), w.Store, toUninstall(w.Owners, force))
	if err != nil {
		return err
	}
	if !a.Flags.JSON {
		view.NewPlanText(a, w.View, "aisync destroy", mode).Render(a.Out, view.PlanOf(p, reconcile.PlanMeta{}, w.Explain(ctx)))
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
