package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/app/clone"
	"aisync.dev/aisync/app/converge"
	"aisync.dev/aisync/app/meaning"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/review"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile"
)

// ConvergeCommand builds the command converge.
func ConvergeCommand(a *cli.App) *cobra.Command {
	var last, now bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "converge",
		Short: "apply what needs no decision, and report the rest",
		Long: `Applies the host's spec as far as nobody must decide anything: it overwrites no
edit and nothing that was there before, and writes no flagged text that you have
not accepted. If the spec or a bundle has something new that programs would run, call
or may do, nothing is applied before your next aisync apply. What waits for you is in
its report, which aisync status and --last show. It asks nothing, fetches no newer spec and leaves projects alone. Where the
spec's folder is a git clone, changes that follow from edits that are not committed
wait as well.

converge: {every: "4h"} in the host's spec has a timer of systemd run it; under
launchd or aisync's own supervisor, a service runs it. It uses the environment of
your last apply on this machine, without which it refuses. Each failure in a row
doubles the pause, up to a day; --now does not wait.

Exit code 0: done, or some of it waits for you; 1: something failed; 6: another
apply is running.`,
		Example:     "  $ aisync converge --last\n  $ aisync converge --now",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case last:
				return lastConverge(a)
			case every > 0:
				return convergeAgain(cmd.Context(), a, every)
			}
			return convergeOnce(cmd.Context(), a, now)
		},
	}
	cmd.Flags().BoolVar(&last, "last", false, "print the report of the last run, and run nothing")
	cmd.Flags().BoolVar(&now, "now", false, "run even if failures have put the next run off")
	cmd.Flags().DurationVar(&every, "every", 0, "run after each `TIME`, until stopped; for service managers without timers")
	return cmd
}

// convergeAgain runs a process for each run, so that each is the newest program.
func convergeAgain(ctx context.Context, a *cli.App, every time.Duration) error {
	for pause := min(every, 10*time.Minute); ; pause = every {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		run := exec.CommandContext(ctx, os.Args[0], "converge")
		run.Cancel = func() error { return run.Process.Signal(os.Interrupt) } // it finishes its journal
		run.WaitDelay = 20 * time.Second
		run.Env, run.Stdout, run.Stderr = a.Env.List(), a.Out, a.Err
		if err := run.Run(); err != nil && ctx.Err() == nil {
			a.Say("aisync: converge: %s", termtext.Safe(err.Error()))
		}
	}
}

// convergeOnce runs once, unless failures have put that off.
func convergeOnce(ctx context.Context, a *cli.App, now bool) error {
	p, as, err := likeLastApply(a)
	if err != nil {
		return err
	}
	before, err := converge.ReadReport(p)
	if err != nil {
		return err
	}
	every := 4 * time.Hour // for a spec that cannot be read
	v, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	switch {
	case err != nil:
	case v.Spec.Host == nil || v.Spec.Host.Converge == nil:
		return advice.New(errors.New("the host's spec does not ask to converge"), `add to it: converge: {every: "4h"}`)
	default:
		every = v.Spec.Host.Converge.Every
	}
	if until := before.Waits(every, time.Now()); !until.IsZero() && !now {
		a.Say("aisync: %s in a row failed; the next one is not before %s; aisync converge --now does not wait", quantity.Count(before.Failures, "run"), until.Local().Format("2006-01-02 15:04"))
		return nil
	}
	r := &converge.Report{Began: time.Now(), Changed: []string{}, Waiting: []converge.Waiting{}, Failed: []string{}}
	if err == nil {
		err = convergeHost(ctx, a, as, r)
	}
	var code cli.ExitWith // what it stands for was reported
	switch {
	case ctx.Err() != nil, cli.ExitCode(err) == cli.ExitLocked:
		return err
	case err != nil && !errors.As(err, &code):
		a.Report(err)
		r.Failed = append(r.Failed, termtext.OneLine(err.Error()))
	}
	r.Close(before, every, time.Now())
	if err := r.Write(p); err != nil {
		return err
	}
	if !a.Flags.JSON {
		printConverge(a, r, "")
	}
	if len(r.Failed) > 0 {
		return cli.Exit(cli.ExitError)
	}
	return nil
}

// likeLastApply gives a the environment and the flags of the person's last apply.
func likeLastApply(a *cli.App) (place.Places, *converge.As, error) {
	p, err := a.HostPlaces()
	if err != nil {
		return p, nil, err
	}
	as, err := converge.ReadAs(p)
	if err != nil {
		return p, nil, err
	}
	if as == nil {
		return p, nil, advice.Command(errors.New("you have not applied this spec here yet, so nothing is applied unattended"), "aisync apply")
	}
	for name, value := range as.Env {
		a.Env[name] = value
		if err := os.Setenv(name, value); err != nil { // programs are looked up in this process's PATH
			return p, nil, err
		}
	}
	for _, f := range []struct {
		flag *string
		was  string
	}{{&a.Flags.Config, as.Config}, {&a.Flags.Host, as.Host}, {&a.Flags.Facts, as.Facts}} {
		if *f.flag == "" {
			*f.flag = f.was
		}
	}
	p, err = a.HostPlaces()
	return p, as, err
}

// rememberApply keeps how the person applied ask, for converge. An apply of a part of
// the plan is no yes to what the rest has programs do.
func rememberApply(ctx context.Context, a *cli.App, w *stack.Session, ask stack.Request) error {
	h, p := w.Spec.Host, w.Places
	if h == nil || h.Converge == nil || !w.Has(reconcile.HostOwner) || p.Root != "" || p.Chown {
		return nil
	}
	as := converge.As{Host: a.Flags.Host, Env: converge.Variables(a.Env, w.Catalog.Runtimes()), Effects: []review.Effect{}}
	if len(ask.Targets)+len(ask.Excludes) == 0 {
		as.Effects = hostEffects(ctx, w)
	} else if before, err := converge.ReadAs(p); err != nil {
		return err
	} else if before != nil {
		as.Effects = before.Effects
	}
	if p.Configured {
		as.Config = p.Config
	}
	if a.Flags.Facts != "" {
		as.Facts = place.Absolute(w.Cwd, a.Flags.Facts)
	}
	return as.Write(p)
}

// hostEffects are what programs do because of the host's spec, with its sources as they
// are on this machine.
func hostEffects(ctx context.Context, w *stack.Session) []review.Effect {
	sources := &bundle.Sources{Home: w.Places.Physical(w.Places.Home), Resolve: w.Resolver(pin.Look).Source, Instead: w.Instead}
	return review.OfHost(ctx, yield.Spec{Runtimes: w.Catalog.Runtimes(), Sources: sources, Host: w.Spec.Host})
}

// convergeHost applies the host's spec and reports into r.
func convergeHost(ctx context.Context, a *cli.App, as *converge.As, r *converge.Report) error {
	ask := stack.Request{Scope: stack.ScopeHost}
	f := cli.ApplyFlags{Yes: true, KeepGoing: true}
	w, err := a.Opened(ctx, ask, 0, "aisync converge")
	if err != nil {
		return err
	}
	defer w.Release()
	if w.Services.By != control.Systemd {
		ask.Excludes = []string{"service:user/converge"} // it would end itself
	}
	ask = w.WithDependents(ask)
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return err
	}
	shown := view.NewPlanAsText(ctx, w.View, p, ask, cli.DiffShort)
	if p, ask, _, err = decideFlagged(ctx, a, w.View, p, ask, &f, shown.Flagged); err != nil {
		return err
	}
	for _, c := range p.Changes {
		if c.Action == reconcile.Unclear {
			r.Waiting = append(r.Waiting, converge.Waiting{Address: string(c.Target.Resource.Address), Why: "cannot be observed: " + c.Before.Reason})
		}
	}
	for _, c := range p.Undecided() {
		r.Waiting = append(r.Waiting, converge.Waiting{Address: string(c.Target.Resource.Address), Why: meaning.Of(c)})
	}
	for _, c := range p.Conflicts {
		r.Waiting = append(r.Waiting, converge.Waiting{Address: string(c.Address), Why: c.Reason})
	}
	if changing(p) > 0 {
		all, err := forAll(ctx, a, w, as)
		if err != nil || len(all) > 0 {
			r.Waiting = append(r.Waiting, all...)
			return err
		}
	}
	if !a.Flags.JSON && changing(p) > 0 {
		view.NewPlanText(a, w.View, "aisync plan", cli.DiffShort).Render(a.Out, view.NewPlanAsText(ctx, w.View, p, ask, cli.DiffShort))
	}
	if err := w.SavePins(); err != nil {
		return err
	}
	res, err := carryOut(ctx, a, w, p, f, reconcile.ApplyOptions{Command: "converge"})
	for _, address := range res.Done {
		r.Changed = append(r.Changed, string(address))
	}
	for _, x := range res.Failed {
		r.Failed = append(r.Failed, termtext.OneLine(string(x.Address)+": "+x.Err.Error()))
	}
	for _, left := range w.LeftOut {
		r.Failed = append(r.Failed, termtext.OneLine(left.Error()))
	}
	if len(res.Failed) > 0 {
		return cli.Exit(cli.ExitError)
	}
	return err
}

// forAll returns what has every change wait: what is new of what programs do, and a
// spec that the person is at work on.
func forAll(ctx context.Context, a *cli.App, w *stack.Session, as *converge.As) ([]converge.Waiting, error) {
	var out []converge.Waiting
	for _, e := range as.New(hostEffects(ctx, w)) {
		out = append(out, converge.Waiting{Address: e.Kind + " " + e.Name, Why: e.Does + ", which is new; run: aisync apply"})
	}
	edited, err := uncommitted(ctx, a, w.Places)
	if err == nil && edited != "" {
		out = append(out, converge.Waiting{Address: "the spec", Why: edited})
	}
	return out, err
}

// uncommitted says which edits of a spec in a clone are not committed; "": none. Pins
// are aisync's own.
func uncommitted(ctx context.Context, a *cli.App, p place.Places) (string, error) {
	c, err := clone.Open(ctx, p.Config, clone.Options{Env: a.Env.List(), Named: p.Configured})
	if errors.Is(err, clone.ErrNone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	edits, err := c.Edits(ctx)
	if err != nil {
		return "", err
	}
	edits = slices.DeleteFunc(edits, func(e clone.Edit) bool { return e.File == stack.LockName })
	if len(edits) == 0 {
		return "", nil
	}
	var names []string
	for _, e := range edits {
		names = append(names, e.File)
	}
	return "edits that are not committed: " + strings.Join(names, ", ") + "; commit them, or run: aisync apply", nil
}

func lastConverge(a *cli.App) error {
	p, err := a.HostPlaces()
	if err != nil {
		return err
	}
	r, err := converge.ReadReport(p)
	switch {
	case err != nil:
		return err
	case a.Flags.JSON:
		return a.WriteJSON(r)
	case r == nil:
		a.Say("converge has not run yet")
		return nil
	}
	printConverge(a, r, session.Ago(time.Since(r.Ended))+" ago: ")
	return nil
}

// printConverge prints r, after when.
func printConverge(a *cli.App, r *converge.Report, when string) {
	a.Printf("%s%s\n", when, convergeText(r))
	for _, w := range r.Waiting {
		a.Printf("%s\n", a.Hang("  waits for you: ", termtext.Safe(termtext.OneLine(w.Address+": "+w.Why))))
	}
	for _, f := range r.Failed {
		a.Printf("%s\n", a.Hang("  failed: ", termtext.Safe(f)))
	}
}

// convergeText is r in one line.
func convergeText(r *converge.Report) string {
	parts := []string{quantity.Count(len(r.Changed), "resource") + " changed"}
	if n := len(r.Waiting); n == 1 {
		parts = append(parts, "1 waits for you")
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("%d wait for you", n))
	}
	if len(r.Failed) > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", len(r.Failed)))
	}
	text := strings.Join(parts, ", ") + "."
	if r.Failures > 1 {
		text += fmt.Sprintf(" %d runs in a row failed; the next one is not before %s.", r.Failures, r.NotBefore.Local().Format("2006-01-02 15:04"))
	}
	return text
}
