package doctor

import (
	"cmp"
	"context"

	"aisync.dev/aisync/internal/advice"
)

// checkLoadsOnce reports what programs load twice, of aisync and of others. It never
// fails: the programs work, with less room and perhaps with rules that contradict
// each other.
func checkLoadsOnce(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	v, plan, err := e.plan()
	if err != nil {
		return found(warn(cmp.Or(advice.Of(err), "aisync plan"), "what the specs ask for is unknown: %v", err))
	}
	sentences, err := v.DuplicateSentences(ctx, plan)
	if err != nil {
		return found(skip("not checked: %v", err))
	}
	var out []Finding
	for _, s := range sentences {
		out = append(out, warn(s.Fix, "%s", s.Text))
	}
	return found(out...)
}
