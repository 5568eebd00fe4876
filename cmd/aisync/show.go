package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// stillHolds returns why a plan is no longer what would be done, or why that
// cannot be told.
func (a *app) stillHolds(ctx context.Context, doc reconcile.PlanDoc) error {
	ask := Request{Scope: Scope(doc.Meta.Scope), Targets: doc.Meta.Targets, Excludes: doc.Meta.Excludes, Choice: doc.Meta.Choice}
	w, err := a.loaded(ctx, ask.Scope, Open)
	if err != nil {
		return fmt.Errorf("whether this plan still holds cannot be told: %w", err)
	}
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return fmt.Errorf("whether this plan still holds cannot be told: %w", err)
	}
	return doc.Check(p, w.Meta(p, ask))
}

func showCommand(a *app) *cobra.Command {
	var diff string
	cmd := &cobra.Command{
		Use:   "show PLANFILE",
		Short: "read a plan file, also one that is out of date",
		Long: `Shows a plan that aisync plan --out wrote, as it was when it was made, and warns
if it is no longer what would be done: then aisync apply refuses it.

It writes nothing.`,
		Example:     "  $ aisync plan --out tonight.plan\n  $ aisync show tonight.plan",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        exactArgs(1, "the plan file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			mode, err := parseDiffMode(diff)
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
			if err := a.stillHolds(cmd.Context(), doc); err != nil {
				a.say("aisync: warning: %s", termtext.Safe(err.Error()))
			}
			if a.g.json {
				return a.writeJSON(doc)
			}
			text := planText{paint: a.paint(), diff: mode, command: "aisync show " + shellquote.Terminal(args[0]), host: "Host " + doc.Meta.Host, project: "Project"}
			text.render(a.out, &planView{PlanDoc: doc})
			return nil
		},
	}
	cmd.Flags().StringVar(&diff, "diff", string(diffShort), "`HOW` much of differences: short, full, none")
	return cmd
}
