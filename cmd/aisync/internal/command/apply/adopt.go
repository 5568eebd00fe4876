package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/reconcile"
)

// itsSource stands for the folder that a bundle comes from.
const itsSource = "its-source"

// AdoptCommand builds the command adopt.
func AdoptCommand(a *cli.App) *cobra.Command {
	s := stack.ScopeAll
	var f cli.ApplyFlags
	var folder string
	cmd := &cobra.Command{
		Use:   "adopt ADDRESS...",
		Short: "keep what is there, and remember that ours was refused",
		Long: `Takes what lies at an address as it is. It counts as in order from now on, until
the spec asks for something else there; then you are asked again. No file is
changed, only aisync's records.

With --to-bundle an edit of a file that came out of a bundle goes back into it,
into its source where that is a folder, or into the checkout that is named: from
then on the spec wants what is there. The difference is shown, and what the
bundle's file was is kept.`,
		Example:     "  $ aisync adopt file:.claude/settings.json\n  $ aisync adopt file:.claude/rules/go.md --to-bundle\n  $ aisync adopt file:.claude/rules/go.md --to-bundle=../rulesets",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the address"),

		ValidArgsFunction: a.Addresses,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if _, err := reconcile.ParseAddress(arg); err != nil {
					return cli.Usagef("%v", err)
				}
			}
			ask := stack.Request{Scope: s, Choice: reconcile.Choice{Adopt: true}, Targets: args}
			if cmd.Flags().Changed("to-bundle") {
				return carryBack(cmd.Context(), a, ask, f, strings.TrimPrefix(folder, itsSource))
			}
			return adopt(cmd.Context(), a, ask, f)
		},
	}
	cli.ScopeFlag(&s, cmd)
	f.Register(cmd)
	cmd.Flags().StringVar(&folder, "to-bundle", "", "carry the edit back into its bundle: into `FOLDER`, or the source itself")
	cmd.Flags().Lookup("to-bundle").NoOptDefVal = itsSource
	_ = cmd.Flags().MarkHidden("diff")
	_ = cmd.Flags().MarkHidden("yes") // nothing is asked: nothing is written but records
	return cmd
}

func adopt(ctx context.Context, a *cli.App, ask stack.Request, f cli.ApplyFlags) error {
	w, err := a.Opened(ctx, ask, f.LockTimeout, "aisync adopt")
	if err != nil {
		return err
	}
	defer w.Release()
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return err
	}
	p.Conflicts = nil // of the spec with itself: no part of what is there
	named := func(c reconcile.Change) bool {
		return slices.ContainsFunc(ask.Targets, c.Target.Match)
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(c reconcile.Change) bool { return !named(c) })
	for _, c := range p.Changes {
		switch {
		case c.Writes():
			return fmt.Errorf("%s: cannot be kept as it is: %s; nothing was changed", c.Target.Resource.Address, c.Meaning())
		case c.Action == reconcile.Clash:
			return fmt.Errorf("%s: %s: %w; nothing was changed", c.Target.Resource.Address, c.Meaning(), reconcile.ErrUndecided)
		case c.Action == reconcile.Unclear:
			return fmt.Errorf("%s: %s; nothing was changed", c.Target.Resource.Address, c.Meaning())
		}
	}
	if p.Empty() {
		a.Say("aisync: nothing to adopt: it is in order")
		return nil
	}
	return CarryOut(ctx, a, w, p, f, reconcile.ApplyOptions{Command: "adopt"})
}
