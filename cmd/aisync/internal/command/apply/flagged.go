package apply

import (
	"context"
	"slices"
	"strings"

	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// decideFlagged asks about flagged texts of p. It returns the plan to carry out, its
// request, and the digests of the texts that the person accepted. With --keep-going,
// or at the answer "without them", the plan leaves the others out.
func decideFlagged(ctx context.Context, a *cli.App, w *stack.View, p *reconcile.Plan, ask stack.Request, f *cli.ApplyFlags, list []flagged.Text) (*reconcile.Plan, stack.Request, []string, error) {
	var accepted []string
	var open []flagged.Text
	for _, t := range list {
		if slices.Contains(f.Accept, t.ID) {
			accepted = append(accepted, t.Digest)
		} else {
			open = append(open, t)
		}
	}
	for _, id := range f.Accept {
		if !slices.ContainsFunc(list, func(t flagged.Text) bool { return t.ID == id }) {
			a.Say("aisync: --accept %s: this plan writes no flagged text with that ID that you have not accepted", termtext.Safe(id))
		}
	}
	if len(open) == 0 {
		return p, ask, accepted, nil
	}
	if a.Flags.JSON { // the list was not shown yet
		view.NewPlanText(a, w, "aisync plan", cli.DiffNone).Flagged(a.Err, open)
	}
	rest := func() (*reconcile.Plan, stack.Request, []string, error) {
		ask.Hold, f.KeepGoing = flagged.Hold(open), true
		p, err := w.Plan(ctx, ask)
		return p, ask, accepted, err
	}
	if f.KeepGoing {
		return rest()
	}
	if !a.Terminal() {
		var accept strings.Builder
		for _, t := range open {
			accept.WriteString(" --accept " + t.ID)
		}
		return nil, ask, nil, advice.Command(stack.EffectsError(flagged.Waiting(len(open))+" for your yes (listed above)"), "aisync apply"+accept.String()+", after reading them; --keep-going does the rest")
	}
	answer, err := a.Choose(flagged.Waiting(len(open))+" for your yes (see above). Read them first.", "yes", "without them", "no")
	switch {
	case err != nil:
		return nil, ask, nil, err
	case answer == "without them":
		return rest()
	case answer == "yes":
		for _, t := range open {
			accepted = append(accepted, t.Digest)
		}
		return p, ask, accepted, nil
	}
	return nil, ask, nil, stack.EffectsError("you said no")
}

// both holds a leaf for the reason of x, else for that of y; x may be nil.
func both(x, y func(reconcile.Address, reconcile.LeafKey) string) func(reconcile.Address, reconcile.LeafKey) string {
	if x == nil {
		return y
	}
	return func(a reconcile.Address, key reconcile.LeafKey) string {
		if why := x(a, key); why != "" {
			return why
		}
		return y(a, key)
	}
}
