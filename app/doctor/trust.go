package doctor

import (
	"cmp"
	"context"
	"slices"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/advice"
)

// checkTrust reports what programs do not load of the project. A program asks the
// person when it is next started there; a required hook that waits for that fails.
func checkTrust(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	v, plan, err := e.plan()
	if err != nil {
		return found(warn(cmp.Or(advice.Of(err), "aisync plan"), "what the specs ask for is unknown: %v", err))
	}
	var out []Finding
	if _, undecided := v.Effects(plan); len(undecided) > 0 {
		next := "aisync apply"
		if len(plan.Undecided())+len(plan.Conflicts) > 0 {
			next = "aisync apply --keep-going --trust, after reading them" // without these flags it waits for the conflicts
		}
		out = append(out, warn(next, "%s for your yes; aisync plan lists them", effects.Waiting(len(undecided))))
	}
	for _, r := range v.NotTrusted(plan) {
		i := slices.IndexFunc(v.Declared.Required, func(h adapter.RequiredHook) bool { return h.Runtime == r.Runtime })
		if i >= 0 && slices.Contains(r.Parts, "hooks") {
			h := v.Declared.Required[i]
			out = append(out, fail(r.Do, "%s: the required hook %s %s has not been allowed to run in %s: %s", h.Origin[0], h.Event, h.Command, r.Runtime, stack.TrustText(r)))
			continue
		}
		out = append(out, warn(r.Do, "%s: %s", r.Runtime, stack.TrustText(r)))
	}
	return found(out...)
}
