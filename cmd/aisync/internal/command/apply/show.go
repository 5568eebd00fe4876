package apply

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// stillHolds returns why a plan is no longer what would be done, or why that
// cannot be told.
func stillHolds(ctx context.Context, a *cli.App, doc reconcile.PlanDoc) error {
	ask := stack.Request{Scope: stack.Scope(doc.Meta.Scope), Targets: doc.Meta.Targets, Excludes: doc.Meta.Excludes, Choice: doc.Meta.Choice}
	w, err := a.Loaded(ctx, ask.Scope, stack.Open)
	if err != nil {
		return fmt.Errorf("whether this plan still holds cannot be told: %w", err)
	}
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return fmt.Errorf("whether this plan still holds cannot be told: %w", err)
	}
	return doc.Check(p, w.Meta(p, ask))
}

// ShowCommand builds the command show.
func ShowCommand(a *cli.App) *cobra.Command {
	var diff string
	cmd := &cobra.Command{
		Use:   "show PLANFILE",
		Short: "read a plan file, also one that is out of date",
		Long: `Shows a plan that aisync plan --out wrote, as it was when it was made, and warns
if it is no longer what would be done: then aisync apply refuses it.

It writes nothing.`,
		Example:     "  $ aisync plan --out tonight.plan\n  $ aisync show tonight.plan",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the plan file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			mode, err := cli.ParseDiffMode(diff)
			if err != nil {
				return err
			}
			b, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read plan: %w", err)
			}
			doc, err := reconcile.ReadPlan(args[0], b)
			if err != nil {
				return err
			}
			if err := stillHolds(cmd.Context(), a, doc); err != nil {
				a.Say("aisync: warning: %s", termtext.Safe(err.Error()))
			}
			if a.Flags.JSON {
				return a.WriteJSON(doc)
			}
			text := view.PlanText{Paint: a.Paint(), Diff: mode, Command: "aisync show " + shellquote.Terminal(args[0]), Host: "Host " + doc.Meta.Host, Project: "Project"}
			text.Render(a.Out, &view.Plan{PlanDoc: doc})
			return nil
		},
	}
	cmd.Flags().StringVar(&diff, "diff", string(cli.DiffShort), "`HOW` much of differences: short, full, none")
	return cmd
}
