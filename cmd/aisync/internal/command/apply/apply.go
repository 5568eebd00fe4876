// Package apply provides the commands around a plan: plan, apply, adopt, status,
// show, rollback, prune, destroy and lock.
package apply

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

// ApplyCommand builds the command apply.
func ApplyCommand(a *cli.App) *cobra.Command {
	ask := stack.Request{Scope: stack.ScopeAll}
	var f cli.ApplyFlags
	cmd := &cobra.Command{
		Use:   "apply [PLANFILE]",
		Short: "make the changes that plan shows, after asking",
		Long: `Shows the plan, asks, and makes exactly those changes. With a plan file it
applies that plan, or refuses it if anything changed since (exit 5).

It overwrites nothing without a decision: if a file was there before, or was
edited since, it changes nothing and lists the choices (exit 4). With
--keep-going it makes the other changes (exit 3). It keeps a backup of what it
replaces; aisync rollback restores it. It first finishes an apply that was
interrupted.

With --take-over, files that the sources of the spec have, or had in an earlier
version, become aisync's own, also those of another installer: they are updated, and
removed, with their rule. Copies of a rule that programs load from elsewhere as
well are removed. A file that no version equals is left alone and named. Removed
files come back with aisync rollback.

Verified models are not read again. With --restore, a model named by --target is
read; a damaged file is renamed and fetched again.

The plan lists, by program, what agent programs and git will obey in the
project: what they run, where they send, what they allow, which folders they
trust. apply asks about each of these effects once, and again when it changes.
--yes does not answer these questions, --trust does.

It also lists text of pinned sources that attacks the agent that reads it, such as
hidden characters or a command that sends secrets away, and asks about it. Neither
--yes nor --trust answers that; --accept with the ID that the plan shows does, for
these bytes only.

With --all it shows the plans of all projects, each change once, asks once, and
applies them one after the other. A project where something is undecided or fails
stops no other. --commit makes one commit a project, of what was written alone.

Exit codes: 0 done; 1 error; 2 nothing to do, but there are undecided edits; 3
done in part; 4 undecided, nothing changed; 5 the plan file is out of date; 6
another apply is running; 7 network required, but --offline.`,
		Example: `  $ aisync apply
  $ aisync apply --yes --trust
  $ aisync apply --accept 0f1e2d3c4b5a
  $ aisync apply tonight.plan
  $ aisync apply --all --commit --filter 'web/*'`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var file string
			if len(args) == 1 {
				file = args[0]
			}
			return Apply(cmd.Context(), a, ask, f, file)
		},
	}
	cli.ScopeFlag(&ask.Scope, cmd)
	cli.ChoiceFlags(cmd, &ask.Choice)
	cli.NarrowFlags(cmd, &ask.Targets, &ask.Excludes)
	f.Register(cmd)
	cmd.Flags().BoolVarP(&f.KeepGoing, "keep-going", "k", false, "skip what is undecided or fails, and do the rest")
	cli.TransferFlags(cmd.Flags(), &ask.Transfer)
	cmd.Flags().StringSliceVar(&f.Accept, "accept", nil, "approve the flagged text with this `ID`, which the plan shows")
	cmd.Flags().BoolVar(&f.Trust, "trust", false, "approve everything that programs and git will obey in this project")
	var commit everyproject.CommitFlags
	commit.Register(cmd)
	everyproject.Register(cmd, a, func(ctx context.Context, r *everyproject.Run) error {
		return applyAll(ctx, r, applyAllFlags{f, commit})
	})
	return cmd
}

// Apply plans ask, asks for confirmation and applies the plan. With file it applies
// the plan in that file, or returns an error if it is out of date.
func Apply(ctx context.Context, a *cli.App, ask stack.Request, f cli.ApplyFlags, file string) error {
	if f.DryRun {
		return rehearsed(ctx, a, ask, f, file)
	}
	mode, err := cli.ParseDiffMode(f.Diff)
	if err == nil {
		err = cli.CheckTransfer(ask.Transfer)
	}
	if err != nil {
		return err
	}
	var doc reconcile.PlanDoc
	if file != "" {
		if doc, err = readPlanFile(file, &ask); err != nil {
			return err
		}
	}
	w, err := a.Opened(ctx, ask, f.LockTimeout, "aisync apply")
	if err != nil {
		return err
	}
	defer w.Release()
	if file == "" {
		if ask, err = setDamagedAside(ctx, a, w, ask, f); err != nil {
			return err
		}
	}
	ask = w.WithDependents(ask)
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return err
	}
	if file != "" {
		if err := doc.Check(p, w.Meta(p, ask)); err != nil {
			return err
		}
	}
	if err := w.NoteDuplicates(ctx, p); err != nil {
		return err
	}
	shown := view.NewPlanAsText(ctx, w.View, p, ask, mode)
	if !a.Flags.JSON {
		view.NewPlanText(a, w.View, "aisync plan", mode).Render(a.Out, shown)
	}
	if err := Undecided(a, p, f.KeepGoing); err != nil {
		return err
	}
	p, ask, accepted, err := decideFlagged(ctx, a, w.View, p, ask, &f, shown.Flagged)
	if err != nil {
		return err
	}
	p, agreed, err := decideEffects(ctx, a, w.View, p, ask, &f)
	if err != nil {
		return err
	}
	if n := changing(p); n > 0 && file == "" {
		if err := a.Confirm(f.Yes, "Apply "+theseChanges(n)+"?"); err != nil {
			return err
		}
	}
	if err := w.EffectsUnchanged(p); err != nil {
		return err
	}
	if err := w.Agree(agreed); err != nil {
		return err
	}
	if len(accepted) > 0 {
		if err := w.Store.Agree(w.FS, reconcile.HostOwner, accepted); err != nil {
			return err
		}
	}
	if n := len(shown.Effects); n > 0 && len(agreed) > 0 && changing(p) == 0 {
		a.Hint("Your yes to %s is remembered.", quantity.Count(n, "effect"))
	}
	if err := w.SavePins(); err != nil {
		return err
	}
	if err := rememberApply(ctx, a, w, ask); err != nil {
		return err
	}
	return CarryOut(ctx, a, w, p, f, reconcile.ApplyOptions{Command: "apply"})
}

// rehearsed shows what an apply would do, and writes nothing.
func rehearsed(ctx context.Context, a *cli.App, ask stack.Request, f cli.ApplyFlags, file string) error {
	mode, err := cli.ParseDiffMode(f.Diff)
	if err == nil && file != "" {
		_, err = readPlanFile(file, &ask)
	}
	if err != nil {
		return err
	}
	return planFor(ctx, a, ask, f, "", "", false, mode)
}

// readPlanFile reads a plan and sets ask to the request that it was made for.
func readPlanFile(file string, ask *stack.Request) (reconcile.PlanDoc, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return reconcile.PlanDoc{}, fmt.Errorf("read plan: %w", err)
	}
	doc, err := reconcile.ReadPlan(file, b)
	if err != nil {
		return doc, err
	}
	if len(ask.Targets)+len(ask.Excludes) > 0 || ask.Choice != (reconcile.Choice{}) || ask.Scope != stack.ScopeAll {
		return doc, cli.Usagef("apply %s: a plan file already fixes scope, targets and choices; leave out --scope, --target, --exclude, --adopt, --force, --restore, --take-over and --merge", file)
	}
	ask.Scope, ask.Targets, ask.Excludes, ask.Choice = stack.Scope(doc.Meta.Scope), doc.Meta.Targets, doc.Meta.Excludes, doc.Meta.Choice
	return doc, nil
}

// changing counts the resources that an apply changes or records.
func changing(p *reconcile.Plan) int {
	n := 0
	for _, c := range p.Changes {
		if c.Action != reconcile.None && c.Action != reconcile.Clash && c.Action != reconcile.Unclear {
			n++
		}
	}
	return n
}

func theseChanges(n int) string {
	if n == 1 {
		return "this change"
	}
	return fmt.Sprintf("these %d changes", n)
}

// Undecided returns an error for a plan with undecided resources or conflicts,
// unless keepGoing.
func Undecided(a *cli.App, p *reconcile.Plan, keepGoing bool) error {
	open := p.Undecided()
	if keepGoing || len(open)+len(p.Conflicts) == 0 {
		return nil
	}
	onlyDrift := len(p.Conflicts) == 0 && changing(p) == 0
	for _, c := range open {
		onlyDrift = onlyDrift && c.Drift() && !c.Pending()
	}
	if onlyDrift {
		next := "undo the edit with --restore, or keep it with aisync adopt ADDRESS"
		if !slices.ContainsFunc(open, func(c reconcile.Change) bool { return len(view.Ways(c)) > 0 }) {
			next = "correct it by hand as described there"
		} else if !strings.HasPrefix(decisions(open), "--adopt") || !slices.ContainsFunc(open, func(c reconcile.Change) bool { return c.DecidedBy(reconcile.Choice{Restore: true}) }) {
			next = "decide with the commands shown there"
		}
		a.Say("aisync: %s edited since the last apply: %s", countWere(len(open), "resource"), next)
		return cli.Exit(cli.ExitDiff)
	}
	if len(open) == 0 {
		return advice.New(fmt.Errorf("the spec contradicts itself in %s (see above): %w; nothing was changed", quantity.Count(len(p.Conflicts), "place"), reconcile.ErrUndecided), "correct the files named there; aisync plan shows whether all is right then")
	}
	var byHand []string
	if !slices.ContainsFunc(open, func(c reconcile.Change) bool { return !c.Older() }) {
		return fmt.Errorf("%s undecided, as a source is older (see the notes above): %w; nothing was changed; pull that source, then run aisync apply again; --keep-going does the rest", countAre(len(open), "resource"), reconcile.ErrUndecided)
	}
	for _, c := range open {
		if len(view.Ways(c)) == 0 {
			byHand = append(byHand, string(c.Target.Resource.Address))
		}
	}
	next := "decide with " + decisions(open) + "; --keep-going does the rest"
	switch {
	case len(byHand) == len(open):
		next = "no flag decides this: correct it by hand as described there, then run aisync apply again; --keep-going does the rest"
	case len(byHand) > 0:
		next = "correct by hand " + strings.Join(byHand, ", ") + "; for the others " + next
	}
	return fmt.Errorf("%s undecided (marked ! above): %w; nothing was changed; %s", countAre(len(open), "resource"), reconcile.ErrUndecided, next)
}

// decisions names the flags that decide all of open, or some of it, and the command
// for one address.
func decisions(open []reconcile.Change) string {
	var all, some []string
	for _, d := range []struct {
		flag   string
		choice reconcile.Choice
	}{
		{"--adopt", reconcile.Choice{Adopt: true}}, {"--force", reconcile.Choice{Force: true}},
		{"--restore", reconcile.Choice{Restore: true}}, {"--merge", reconcile.Choice{Merge: true}},
	} {
		n := 0
		for _, c := range open {
			if c.DecidedBy(d.choice) {
				n++
			}
		}
		if n == len(open) {
			all = append(all, d.flag)
		} else if n > 0 {
			some = append(some, d.flag)
		}
	}
	if len(all) == 0 {
		return "the commands shown there"
	}
	text := joinOr(all)
	if len(some) > 0 {
		text += " (" + joinOr(some) + " for some of it)"
	}
	if slices.Contains(all, "--adopt") {
		text += ", or for one: aisync adopt ADDRESS"
	}
	return text
}

// joinOr joins words as a choice.
func joinOr(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}

// countWere returns "1 noun was" or "n nouns were".
func countWere(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return fmt.Sprintf("%d %ss were", n, noun)
}

// countAre returns "1 noun is" or "n nouns are".
func countAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}
