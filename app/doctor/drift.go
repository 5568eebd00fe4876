package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
)

// checkedElsewhere are the kinds that another check examines.
var checkedElsewhere = []string{"model", "service"}

// maxPendingShown is how many pending changes are named.
const maxPendingShown = 4

// checkDrift compares the machine with what the specs ask for. What waits for an
// apply does not work yet, and what was edited since may not: both fail. For the
// built-in host, which the person did not write, they are warnings.
func checkDrift(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	v, plan, err := e.plan()
	if err != nil {
		return found(fail(cmp.Or(advice.Of(err), "aisync plan"), "what the specs ask for is unknown: %v", err))
	}
	level := fail
	if h := v.Spec.Host; h != nil && h.Builtin && v.Spec.Project == nil {
		level = warn
	}
	var out []Finding
	var waiting []string
	next := "aisync apply"
	for _, c := range plan.Conflicts {
		out = append(out, fail(c.Hint, "the specs contradict themselves: %s %s", c.Address, c.Reason))
	}
	for _, c := range plan.Changes {
		addr := c.Target.Resource.Address
		if slices.Contains(checkedElsewhere, addr.Kind()) {
			continue
		}
		switch {
		case c.Action == reconcile.Unclear:
			out = append(out, fail("", "%s cannot be observed: %s", addr, c.Before.Reason))
		case c.Action == reconcile.Accept && addr.Kind() == "view":
			out = append(out, level("aisync apply, which reads it", "%s%s is another file than the model, and its bytes were never compared", origin(c), addr))
		case c.Action == reconcile.None, c.Action == reconcile.Accept, c.Action == reconcile.Release:
		case c.Drift():
			if c.Action == reconcile.Clash {
				next = "aisync apply --keep-going"
			}
			out = append(out, level(choices(c), "%s%s is not as it was made: %s", origin(c), addr, c.Meaning()))
		case c.Action == reconcile.Clash:
			next = "aisync apply --keep-going"
			out = append(out, level(choices(c), "%s%s is undecided: %s", origin(c), addr, c.Meaning()))
		default:
			waiting = append(waiting, fmt.Sprintf("%s%s: %s", origin(c), addr, c.Meaning()))
		}
	}
	if n := len(waiting); n > 0 {
		if n > maxPendingShown+1 {
			waiting = append(waiting[:maxPendingShown], fmt.Sprintf("and %d more", n-maxPendingShown))
		}
		out = append(out, level(next, "not done yet:\n%s", strings.Join(waiting, "\n")))
	}
	return found(append(out, e.unsupported(plan)...)...)
}

// choices names the commands that decide about c; "" where none does, and c's
// meaning says what to do by hand.
func choices(c reconcile.Change) string {
	name := shellquote.Terminal(string(c.Target.Resource.Address))
	var out []string
	switch {
	case c.Action != reconcile.Clash:
		return "aisync apply --target " + name
	case c.DecidedBy(reconcile.Choice{Restore: true}):
		out = append(out, "aisync apply --restore --target "+name)
	case c.DecidedBy(reconcile.Choice{Force: true}):
		out = append(out, "aisync apply --force --target "+name)
	}
	if c.DecidedBy(reconcile.Choice{Adopt: true}) {
		out = append(out, "aisync adopt "+name+" to keep it so")
	}
	return strings.Join(out, ", or ")
}

// brokenInput returns a finding where the specs, the records or the locks are
// broken, so that nothing can be compared.
func (e *Env) brokenInput(ctx context.Context) []Finding {
	for _, other := range []struct {
		name   string
		broken bool
	}{{"spec", e.specErr != nil}, {"records", e.storeErr != nil}, {"lock", len(checkLock(ctx, e).Findings) > 0}} {
		if other.broken {
			return []Finding{skip("not checked: the check of %s says why", other.name)}
		}
	}
	return nil
}

// origin returns the place in a spec that asks for what c changes, as the beginning
// of a message.
func origin(c reconcile.Change) string {
	if from := c.Origin(); len(from) > 0 {
		return from[0].String() + ": "
	}
	return ""
}

// unsupported reports what the specs ask for and this machine cannot have. Services
// have another check.
func (e *Env) unsupported(plan *reconcile.Plan) (out []Finding) {
	for _, u := range plan.Unsupported {
		switch u.Address.Kind() {
		case "service":
		case "package", "model":
			out = append(out, fail("", "%s: %s", u.Address, u.Reason))
		default:
			out = append(out, warn("", "%s: %s", u.Address, u.Reason))
		}
	}
	return out
}
