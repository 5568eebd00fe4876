package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// applyFlags are what apply and its relatives (adopt, rollback, destroy) take.
type applyFlags struct {
	yes, keepGoing, trust bool
	waiting               int // effects that are still undecided while the rest is done
	diff                  string
	parallel              int
	lockTimeout           time.Duration
}

// register adds the flags that every command which applies has.
func (f *applyFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fs.StringVar(&f.diff, "diff", string(diffShort), "`HOW` much of differences: short, full, none")
	fs.IntVar(&f.parallel, "parallel", 8, "make up to `N` changes at once")
	fs.DurationVar(&f.lockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
}

func applyCommand(a *app) *cobra.Command {
	ask := Request{Scope: ScopeAll}
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply [PLANFILE]",
		Short: "make it so: what plan shows, after asking",
		Long: `Shows what would change, asks, and does exactly that. With a plan file it does
what that plan says, or refuses it if anything has changed since (exit 5).

Nothing is overwritten that nobody decided about: if a file was there before, or
was edited since, nothing at all is changed and the choices are named (exit 4).
With --keep-going the rest is done (exit 3). What is replaced is kept, and comes
back with aisync rollback. An apply that was interrupted is finished first.

No apply reads a model that was verified. With --restore, one that --target names
is read, and where its bytes are no longer right it is renamed and fetched again.

What agent programs and git will obey in a project after this is listed by
program: what they run, where they send, what they allow, which folders they
trust. You are asked once for each; later only about what changed. --yes is no
answer to that, --trust is one.

Exit codes: 0 done; 1 error; 2 nothing to do, but something was edited since and
nobody decided; 3 done in part; 4 undecided, nothing changed; 5 the plan file is
out of date; 6 another apply is running; 7 needs the network and is offline.`,
		Example: `  $ aisync apply
  $ aisync apply --yes --trust
  $ aisync apply tonight.plan`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var file string
			if len(args) == 1 {
				file = args[0]
			}
			return a.apply(cmd.Context(), ask, f, file)
		},
	}
	ask.Scope.flag(cmd)
	choiceFlags(cmd, &ask.Choice)
	narrowFlags(cmd, &ask.Targets, &ask.Excludes)
	f.register(cmd)
	cmd.Flags().BoolVarP(&f.keepGoing, "keep-going", "k", false, "leave what is undecided or fails, and do the rest")
	transferFlags(cmd.Flags(), &ask.Transfer)
	cmd.Flags().BoolVar(&f.trust, "trust", false, "say yes to all that programs and git will obey in this project")
	return cmd
}

func (a *app) apply(ctx context.Context, ask Request, f applyFlags, file string) error {
	mode, err := parseDiffMode(f.diff)
	if err == nil {
		err = checkTransfer(ask.Transfer)
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
	w, err := a.opened(ctx, ask, f.lockTimeout, "aisync apply")
	if err != nil {
		return err
	}
	defer w.Release()
	if file == "" {
		if ask, err = a.setDamagedAside(ctx, w, ask, f); err != nil {
			return err
		}
	}
	ask = w.withViews(ask)
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return err
	}
	if file != "" {
		if err := doc.Check(p, w.Meta(p, ask)); err != nil {
			return err
		}
	}
	view := w.view(ctx, p, ask, mode)
	if !a.g.json {
		a.planText(w.View, "aisync plan", mode).render(a.out, view)
	}
	if err := a.undecided(p, f.keepGoing); err != nil {
		return err
	}
	p, agreed, err := a.decideEffects(ctx, w.View, p, ask, &f)
	if err != nil {
		return err
	}
	if n := changing(p); n > 0 && file == "" {
		if err := a.confirm(f.yes, "Apply "+theseChanges(n)+"?"); err != nil {
			return err
		}
	}
	if err := w.StillObeyed(p); err != nil {
		return err
	}
	if err := w.Agree(agreed); err != nil {
		return err
	}
	if n := len(view.Effects); n > 0 && len(agreed) > 0 && changing(p) == 0 {
		a.hint("Your yes to %s is remembered.", quantity.Count(n, "effect"))
	}
	if err := w.savePins(); err != nil {
		return err
	}
	return a.carryOut(ctx, w, p, f, reconcile.ApplyOptions{Command: "apply"})
}

// readPlanFile reads a plan and takes over what it was asked for.
func readPlanFile(file string, ask *Request) (reconcile.PlanDoc, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return reconcile.PlanDoc{}, fmt.Errorf("read plan: %w", err)
	}
	doc, err := reconcile.ReadPlan(file, b)
	if err != nil {
		return doc, err
	}
	if len(ask.Targets)+len(ask.Excludes) > 0 || ask.Choice != (reconcile.Choice{}) || ask.Scope != ScopeAll {
		return doc, usagef("apply %s: a plan file says itself what it is about; leave out --scope, --target, --exclude and the choices", file)
	}
	ask.Scope, ask.Targets, ask.Excludes, ask.Choice = Scope(doc.Meta.Scope), doc.Meta.Targets, doc.Meta.Excludes, doc.Meta.Choice
	return doc, nil
}

// changing counts the resources that an apply touches or records.
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

// undecided refuses a plan in which nobody chose, unless the rest shall be done.
func (a *app) undecided(p *reconcile.Plan, keepGoing bool) error {
	open := p.Undecided()
	if keepGoing || len(open)+len(p.Conflicts) == 0 {
		return nil
	}
	onlyDrift := len(p.Conflicts) == 0 && changing(p) == 0
	for _, c := range open {
		onlyDrift = onlyDrift && c.Drift() && !c.Pending()
	}
	if onlyDrift {
		a.say("aisync: %s edited since the last apply and nobody decided; put back with --restore, or keep with aisync adopt ADDRESS", was(len(open), "resource"))
		return exit(exitDiff)
	}
	if len(open) == 0 {
		return advice.Command(fmt.Errorf("the spec contradicts itself in %s (see above): %w; nothing was changed", quantity.Count(len(p.Conflicts), "place"), reconcile.ErrUndecided), "aisync validate")
	}
	var byHand []string
	for _, c := range open {
		if len(ways(c)) == 0 {
			byHand = append(byHand, string(c.Target.Resource.Address))
		}
	}
	next := "choose with --adopt, --force, --restore or --merge, or for one: aisync adopt ADDRESS; --keep-going does the rest"
	switch {
	case len(byHand) == len(open):
		next = "no flag decides that: mend by hand what is named there, then run aisync apply again; --keep-going does the rest"
	case len(byHand) > 0:
		next = "mend by hand what is named at " + strings.Join(byHand, ", ") + "; for the others " + next
	}
	return fmt.Errorf("%s undecided (marked ! above): %w; nothing was changed; %s", is(len(open), "resource"), reconcile.ErrUndecided, next)
}

func was(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return fmt.Sprintf("%d %ss were", n, noun)
}

func is(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// carryOut applies p, shows how far it is, and says what came of it.
func (a *app) carryOut(ctx context.Context, w *Session, p *reconcile.Plan, f applyFlags, o reconcile.ApplyOptions) error {
	o.ID, o.KeepGoing, o.Version, o.Ignored = w.ApplyID, f.keepGoing, versionText(), w.Ignored
	bar := a.newProgress(p)
	w.Notify = func(format string, args ...any) { bar.above(func() { a.say(format, args...) }) }
	o.Events = func(e reconcile.Event) {
		bar.event(e)
		a.logEvent(e)
		if a.g.verbose && e.Kind != "progress" {
			w.Notify("%s", eventText(e))
		}
		if a.g.json {
			bar.locked(func() { _ = a.writeJSONLine(eventLine(e)) })
		}
	}
	w.Engine.Parallel = f.parallel
	res, err := w.Engine.Apply(ctx, w.WriteEnv(o.Events), w.Store, p, o)
	w.forgetUnits(ctx, p)
	bar.close()
	if a.g.json {
		if err := a.writeJSONLine(resultLine(res, err)); err != nil {
			return err
		}
	}
	err = a.outcome(p, w.Pulled, res, err)
	if err == nil && len(w.LeftOut) == 0 {
		if err := a.leftMarked(p); err != nil {
			return err
		}
		if err := a.leftUnknown(p, len(res.Done)); err != nil || f.waiting == 0 {
			return err
		}
		a.say("aisync: %s for your yes, and programs obey what lies there already", waits(f.waiting))
		return exit(exitPartial)
	}
	if err != nil {
		return err
	}
	if len(w.Pulled) > 0 && len(res.Done) == 0 {
		return errors.Join(w.LeftOut...) // nothing else was asked for
	}
	for _, e := range w.LeftOut {
		a.say("aisync: %s", termtext.Safe(e.Error()))
	}
	return exit(exitPartial)
}

// leftUnknown names what could not be observed, and was left as it is: the spec
// may not be true there.
func (a *app) leftUnknown(p *reconcile.Plan, done int) error {
	code := 0
	for _, c := range p.Changes {
		if c.Action != reconcile.Unclear {
			continue
		}
		a.say("aisync: %s: not done, for it cannot be observed: %s", termtext.Safe(string(c.Target.Resource.Address)), termtext.Safe(c.Before.Reason))
		if code = exitError; done > 0 {
			code = exitPartial
		}
	}
	if code == 0 {
		return nil
	}
	return exit(code)
}

// leftMarked says in which files a merge left conflict markers.
func (a *app) leftMarked(p *reconcile.Plan) error {
	var files []string
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			if l.MergeBoth && !l.Rel.CanMerge {
				files = append(files, string(c.Target.Resource.Address))
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	a.say("aisync: conflict markers are left in %s; edit it until none is left, then run aisync apply", termtext.Safe(strings.Join(files, ", ")))
	return exit(exitDiff)
}

// eventText is an event for people, as --verbose shows it.
func eventText(e reconcile.Event) string {
	text := e.Kind + " " + termtext.Safe(strings.TrimSpace(string(e.Action)+" "+string(e.Address)))
	if e.Err != nil {
		text += ": " + termtext.Safe(e.Err.Error())
	}
	return text
}

// logEvent notes an event in the log.
func (a *app) logEvent(e reconcile.Event) {
	if e.Kind == "progress" {
		return
	}
	reason := ""
	if e.Err != nil {
		reason = e.Err.Error()
	}
	a.log(e.Kind, "address", string(e.Address), "action", strings.TrimSpace(string(e.Action)), "error", reason)
}
