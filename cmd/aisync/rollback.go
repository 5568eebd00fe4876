package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

func rollbackCommand(a *app) *cobra.Command {
	var (
		f     applyFlags
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
		Args:        maxArgs(1),

		ValidArgsFunction: a.applies,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.history(cmd.Context())
			}
			id := ""
			if len(args) == 1 {
				id = args[0]
			}
			return a.rollback(cmd.Context(), id, force, f)
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&list, "list", false, "show the applies that can be taken back")
	cmd.Flags().BoolVar(&force, "force", false, "put back even what somebody changed since (a backup is kept)")
	cmd.Flags().BoolVarP(&f.keepGoing, "keep-going", "k", false, "leave what is undecided or fails, and do the rest")
	return cmd
}

func (a *app) rollback(ctx context.Context, id string, force bool, f applyFlags) error {
	mode, err := parseDiffMode(f.diff)
	if err != nil {
		return err
	}
	w, err := a.held(ctx, ScopeAll, f.lockTimeout, "aisync rollback", HoldRecords)
	if err != nil {
		return err
	}
	defer w.Release()
	if w.TookBack != "" && (id == "" || id == w.TookBack) { // and not one more
		a.printf("The apply %s is taken back: the rollback that was interrupted had done all of it.\n", w.TookBack)
		return nil
	}
	p, entry, err := w.Engine.RollbackPlan(ctx, w.ReadEnv(), w.Store, id, reconcile.Choice{Force: force})
	if err != nil {
		return err
	}
	if !a.g.json {
		a.printf("Taking back the apply %s\n\n", entry.ID)
		a.planText(w.View, "aisync rollback", mode).render(a.out, newPlanView(p, reconcile.PlanMeta{}, w.Explain(ctx)))
	}
	if n := len(p.Undecided()); n > 0 && !f.keepGoing {
		return fmt.Errorf("%s changed since that apply: %w; nothing was changed; --force puts back what was there before, --keep-going does the rest", was(n, "resource"), reconcile.ErrUndecided)
	}
	if n := changing(p); n > 0 {
		if err := a.confirm(f.yes, "Take back "+theseChanges(n)+"?"); err != nil {
			return err
		}
	}
	return a.carryOut(ctx, w, p, f, reconcile.ApplyOptions{Command: "rollback", RollbackOf: entry.ID})
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
func (a *app) history(ctx context.Context) error {
	w, err := a.loaded(ctx, ScopeAll, LookAtRecords)
	if err != nil {
		return err
	}
	entries, err := w.Store.History()
	if err != nil {
		return err
	}
	if a.g.json {
		return a.writeJSON(historyDoc{viewVersion, orEmpty(entries)})
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
		a.printf("%s\n", termtext.Safe(line))
	}
	if len(entries) == 0 {
		a.say("aisync: nothing was applied here yet")
	}
	return nil
}
