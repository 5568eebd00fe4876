package apply

import (
	"context"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
)

// decideEffects asks about the undecided effects of p. It returns the plan to carry
// out and the effects that the person approved. With --keep-going, or at the answer
// "without them", the plan leaves the undecided ones out.
func decideEffects(ctx context.Context, a *cli.App, w *stack.View, p *reconcile.Plan, ask stack.Request, f *cli.ApplyFlags) (*reconcile.Plan, []effects.Effect, error) {
	all, undecided := w.Effects(p)
	if f.Trust {
		return p, all, nil // including effects of files that need no change
	}
	if len(undecided) == 0 {
		return p, nil, nil
	}
	if a.Flags.JSON { // the list was not shown yet
		view.NewPlanText(a, w, "aisync plan", cli.DiffNone).Effects(a.Err, undecided)
	}
	rest := func() (*reconcile.Plan, []effects.Effect, error) {
		if err := w.EffectsUnchanged(p); err != nil {
			return nil, nil, err
		}
		ask.Hold, f.KeepGoing, f.Waiting = both(ask.Hold, effects.Hold(all, undecided)), true, len(undecided)
		p, err := w.Plan(ctx, ask)
		if err == nil {
			w.Effects(p) // update them
		}
		return p, nil, err
	}
	if f.KeepGoing {
		return rest()
	}
	if !a.Terminal() {
		return nil, nil, advice.Command(stack.EffectsError(effects.Waiting(len(undecided))+" for your yes (listed above)"), "aisync apply --trust, after reading them; --keep-going does the rest")
	}
	for {
		answer, err := a.Choose(effects.Waiting(len(undecided))+" for your yes (see above).", "yes", "without them", "show all", "no")
		switch {
		case err != nil:
			return nil, nil, err
		case answer == "yes":
			return p, undecided, nil
		case answer == "without them":
			return rest()
		case answer == "show all":
			t := view.NewPlanText(a, w, "aisync plan", cli.DiffNone)
			t.Unchanged = true
			t.Effects(a.Err, undecided)
			continue
		}
		return nil, nil, stack.EffectsError("you said no")
	}
}
