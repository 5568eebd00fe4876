package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/meaning"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// Outcome prints what an apply of p did and returns the error that sets the exit
// code. pulled are the models of models pull, for the command that continues it.
func Outcome(a *cli.App, p *reconcile.Plan, pulled []string, res reconcile.Result, err error) error {
	all := failures(p, res.Failed)
	done := len(res.Done)
	switch {
	case errors.Is(err, context.Canceled):
		kept, next := "", "aisync apply"
		if fetching(p) {
			kept = "downloads resume where they stopped; "
		}
		if len(pulled) > 0 {
			next = "aisync models pull " + strings.Join(pulled, " ")
		}
		a.Say("aisync: interrupted after %s, which are recorded; %scontinue with: %s", quantity.Count(done, "change"), kept, termtext.Safe(next))
		return err
	case err != nil && len(all) == 0:
		return err
	case len(all) > 0 && done == 0:
		if res.ID == "" {
			all = append(all, errors.New("nothing was changed"))
		}
		return errors.Join(all...)
	case len(all)+len(res.Skipped) > 0:
		for _, e := range all {
			a.Report(e)
		}
		reportSkipped(a, p, res.Skipped)
		summarize(a, p, res)
		return cli.Exit(cli.ExitPartial)
	}
	if !a.Flags.JSON && (done > 0 || p.Empty()) {
		summarize(a, p, res)
	}
	return nil
}

// fetching reports whether p downloads anything.
func fetching(p *reconcile.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c reconcile.Change) bool { return c.Writes() && c.Before.Fetch > 0 })
}

// failures returns an error for each problem, with the place in the spec that asked
// for it. Resources that fail for the same reason share one error.
func failures(p *reconcile.Plan, failed []reconcile.Problem) []error {
	var out []*failure
	for _, x := range failed {
		text := strings.TrimPrefix(x.Err.Error(), x.Address.Name()+": ")
		if i := slices.IndexFunc(out, func(f *failure) bool { return f.text == text }); i >= 0 {
			out[i].more++
			continue
		}
		f := &failure{Problem: x, text: text}
		if i := slices.IndexFunc(p.Changes, func(c reconcile.Change) bool { return c.Target.Resource.Address == x.Address }); i >= 0 {
			if origin := p.Changes[i].Origin(); len(origin) > 0 {
				f.place = origin[0].String()
			}
		}
		out = append(out, f)
	}
	var errs []error
	for _, f := range out {
		errs = append(errs, f)
	}
	return errs
}

// failure is a problem of one resource, or of several that have the same one.
type failure struct {
	reconcile.Problem
	text, place string
	more        int // further resources with the same problem
}

func (f *failure) Error() string {
	who := string(f.Address)
	if f.more > 0 {
		who += " and " + quantity.Count(f.more, "more resource")
	}
	if f.place == "" {
		return who + ": " + f.text
	}
	return who + ": " + f.text + " (" + f.place + ")"
}

func (f *failure) Unwrap() error { return f.Err }

// Hint returns what to do next.
func (f *failure) Hint() string {
	var inner interface{ Hint() string }
	if f.Problem.Hint == "" && errors.As(f.Err, &inner) {
		return inner.Hint()
	}
	return f.Problem.Hint
}

// reportSkipped names the resources that were left out, one line for each reason.
func reportSkipped(a *cli.App, p *reconcile.Plan, skipped []reconcile.Problem) {
	count := map[string]int{}
	for _, x := range skipped {
		count[skipReason(p, x)]++
	}
	for _, x := range skipped {
		why := skipReason(p, x)
		n := count[why]
		if n == 0 {
			continue // reported
		}
		count[why] = 0
		who := string(x.Address)
		if n > 1 {
			who += " and " + quantity.Count(n-1, "more resource")
		}
		a.Say("aisync: %s: not done: %s", termtext.Safe(who), termtext.Safe(why))
	}
}

// held reports whether leaves of c wait for approval of their effects.
func held(c reconcile.Change) bool {
	return slices.ContainsFunc(c.Leaves, func(l reconcile.LeafChange) bool { return strings.HasPrefix(l.Meaning, effects.Waits) })
}

// skipReason returns why x was left out. For an undecided resource the plan tells.
func skipReason(p *reconcile.Plan, x reconcile.Problem) string {
	if errors.Is(x.Err, reconcile.ErrUndecided) {
		for _, c := range p.Changes {
			if c.Target.Resource.Address == x.Address {
				if len(Ways(c)) == 0 {
					return meaning.Of(c) // it tells what to do by hand
				}
				if held(c) {
					return meaning.Of(c)
				}
				return meaning.Of(c) + "; undecided"
			}
		}
	}
	return x.Err.Error()
}

// summarize prints the last line of an apply of p, and how to undo it.
func summarize(a *cli.App, p *reconcile.Plan, res reconcile.Result) {
	if a.Flags.JSON || len(res.Done) == 0 {
		return
	}
	line := fmt.Sprintf("Applied: %s.", quantity.Count(len(res.Done), "resource"))
	if n := len(res.Failed) + len(res.Skipped); n > 0 {
		line = fmt.Sprintf("Applied in part: %s done, %d not.", quantity.Count(len(res.Done), "resource"), n)
	}
	if files := inSkills(doneOf(p, res)); files != "" {
		line += " Of these, " + files + "."
	}
	a.Printf("%s\n", line)
	if slices.ContainsFunc(p.Changes, func(c reconcile.Change) bool {
		at := c.Target.Resource.Address
		return at.Kind() == "service" && c.Action == reconcile.Create && slices.Contains(res.Done, at)
	}) {
		a.Hint("To have a llama-server read what programs send before your first question: aisync services warm")
	}
	if res.ID != "" {
		a.Hint("To undo it: aisync rollback %s", res.ID)
	}
}
