package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// PlanCommand builds the command plan.
func PlanCommand(a *cli.App) *cobra.Command {
	var (
		ask      = stack.Request{Scope: stack.ScopeAll}
		out      string
		detailed bool
		diff     string
		packages string
	)
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "show what would change, why, and which spec line asks for it",
		Long: `Compares the specs with what is there and with what aisync last made, and shows
what an apply would do. It writes nothing and never uses the network. With --all
it shows each change of all projects once, with the projects that it is in.

The signs: + create, ~ change, - delete, < restore what was there before,
= adopt as it is, . forget and leave, ! undecided, ? cannot be observed.

Exit codes: 0 done; 2 differences, with --detailed-exitcode; 1 an error, or
something that cannot be observed.`,
		Example: `  $ aisync plan
  $ aisync plan --out tonight.plan && aisync apply tonight.plan
  $ aisync plan --target 'file:~/.claude/*'
  $ pacstrap /mnt $(aisync --root /mnt plan --packages pacman)`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			mode, err := cli.ParseDiffMode(diff)
			if err == nil && packages != "" && a.Flags.JSON {
				err = cli.Usagef("--packages and --json exclude each other; plan --json lists packages among its changes")
			}
			if err != nil {
				return err
			}
			return plan(cmd.Context(), a, ask, out, packages, detailed, mode)
		},
	}
	cli.ScopeFlag(&ask.Scope, cmd)
	cli.ChoiceFlags(cmd, &ask.Choice)
	cli.NarrowFlags(cmd, &ask.Targets, &ask.Excludes)
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "write the plan to `FILE`, for aisync apply FILE")
	f.BoolVar(&detailed, "detailed-exitcode", false, "exit 2 if there are differences")
	f.StringVar(&packages, "packages", "", "print only the names of the packages to install with `VIA` (pacman, apt, npm, …), one per line: those of the spec, and those with programs that it needs")
	f.StringVar(&diff, "diff", string(cli.DiffShort), "`HOW` much of each difference to show: short, full, none")
	everyproject.Register(cmd, a, func(ctx context.Context, r *everyproject.Run) error {
		if out != "" || packages != "" {
			return cli.Usagef("--out and --packages are for one project: leave out --all")
		}
		return planAll(ctx, r, diff, detailed)
	})
	return cmd
}

// ShowPlan prints the plan of scope s, as the command plan does, for a command after
// which there is something to apply.
func ShowPlan(ctx context.Context, a *cli.App, s stack.Scope) error {
	return plan(ctx, a, stack.Request{Scope: s}, "", "", false, cli.DiffShort)
}

func plan(ctx context.Context, a *cli.App, ask stack.Request, out, packages string, detailed bool, mode cli.DiffMode) error {
	return planFor(ctx, a, ask, cli.ApplyFlags{}, out, packages, detailed, mode)
}

// planFor is plan for an apply with these flags: what it would leave out, as it waits
// for a yes, is marked.
func planFor(ctx context.Context, a *cli.App, ask stack.Request, f cli.ApplyFlags, out, packages string, detailed bool, mode cli.DiffMode) error {
	open := stack.Open
	if packages != "" {
		open = openFor(packages)
	}
	w, err := a.Loaded(ctx, ask.Scope, open)
	if err != nil {
		return err
	}
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return err
	}
	if err := w.NoteDuplicates(ctx, p); err != nil {
		return err
	}
	show := view.NewPlanAsText
	if a.Flags.JSON || out != "" {
		show = view.NewPlan
	}
	shown := show(ctx, w, p, ask, mode)
	if hold := waiting(w, p, shown, f); hold != nil {
		ask.Hold = hold
		if p, err = w.Plan(ctx, ask); err != nil {
			return err
		}
		asked, texts := shown.Effects, shown.Flagged
		shown = show(ctx, w, p, ask, mode)
		shown.Effects, shown.Flagged = asked, texts
	}
	if out != "" {
		if err := writePlanFile(a, out, shown.PlanDoc); err != nil {
			return err
		}
	}
	switch {
	case packages != "":
		more, err := lacking(w, packages)
		if err != nil {
			return err
		}
		for _, name := range toInstall(p, packages, more) {
			a.Printf("%s\n", termtext.Safe(name))
		}
	case a.Flags.JSON:
		if err := a.WriteJSON(shown); err != nil {
			return err
		}
	default:
		view.NewPlanText(a, w, "aisync plan", mode).Render(a.Out, shown)
		switch {
		case len(p.Undecided())+len(p.Conflicts) > 0:
			a.Hint("\nDecide what is marked ! first: until then aisync apply changes nothing.")
		case changing(p)+len(shown.Effects) > 0 && out == "":
			a.Hint("\nTo apply this: aisync apply")
		}
		if out != "" {
			a.Hint("\nTo apply exactly this: aisync apply %s", shellquote.Terminal(out))
		}
	}
	switch {
	case shown.Summary.Unknown > 0:
		return cli.Exit(cli.ExitError)
	case detailed && (!p.Empty() || len(shown.Effects) > 0):
		return cli.Exit(cli.ExitDiff)
	}
	return nil
}

// waiting returns which leaves an apply with these flags holds back; nil: none.
func waiting(w *stack.View, p *reconcile.Plan, shown *view.Plan, f cli.ApplyFlags) func(reconcile.Address, reconcile.LeafKey) string {
	if !f.KeepGoing {
		return nil
	}
	var hold func(reconcile.Address, reconcile.LeafKey) string
	if open := slices.DeleteFunc(slices.Clone(shown.Flagged), func(t flagged.Text) bool { return slices.Contains(f.Accept, t.ID) }); len(open) > 0 {
		hold = flagged.Hold(open)
	}
	if all, undecided := w.Effects(p); !f.Trust && len(undecided) > 0 {
		hold = both(hold, effects.Hold(all, undecided))
	}
	return hold
}

// writePlanFile writes a plan that only its owner can read: it contains parts of
// their files.
func writePlanFile(a *cli.App, name string, doc reconcile.PlanDoc) error {
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	cwd, err := a.Cwd()
	if err != nil {
		return err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(cwd, name)
	}
	return writeFile(name, append(b, '\n'), 0o600)
}

// writeFile writes a file atomically. It replaces an existing file and refuses a
// folder or a link.
func writeFile(name string, b []byte, mode os.FileMode) error {
	dir, base := filepath.Split(name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("write %s: no folder %s; create it first", name, filepath.Clean(dir))
	}
	w, err := fsys.New(fsys.Options{Project: dir, Tag: "out"})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	p, expect := fsys.LogicalPath(base), fsys.Expect{Absent: true}
	if old, err := w.ReadFile(p); err == nil {
		expect = fsys.Expect{Digest: fsys.Digest(old)}
	}
	if err := w.Replace(p, fsys.Content{Bytes: b, Mode: mode}, expect, nil); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return w.Flush()
}
