package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/reconcile"
)

func showCommand(a *app) *cobra.Command {
	var diff string
	cmd := &cobra.Command{
		Use:   "show PLANFILE",
		Short: "read a plan file, also one that is out of date",
		Long: `Shows a plan that aisync plan --out wrote, as it was when it was made. Whether
it still is what would be done, only aisync apply PLANFILE finds out.

It reads the plan file and nothing else, and writes nothing.`,
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
			if doc.Meta.Version != versionText() {
				a.say("aisync: warning: this plan was made by aisync %s, and this is %s: it cannot be applied any more", safe(doc.Meta.Version), versionText())
			}
			if a.g.json {
				return a.writeJSON(doc)
			}
			text := planText{paint: a.paint(), diff: mode, command: "aisync show " + shellQuote(args[0]), host: "Host " + doc.Meta.Host, project: "Project"}
			text.render(a.out, &planView{PlanDoc: doc})
			a.hint("\nThis is how it was when the plan was made. aisync apply %s refuses it if anything has changed since.", shellQuote(args[0]))
			return nil
		},
	}
	cmd.Flags().StringVar(&diff, "diff", string(diffShort), "`HOW` much of differences: short, full, none")
	return cmd
}
