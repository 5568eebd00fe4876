package doctor

import (
	"context"
	"fmt"

	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

// checkContext reports programs that load more at their start than their budget
// in the spec, and texts of which a program cuts off the end, as both will be
// once what the specs ask for is applied.
func checkContext(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	v, plan, err := e.plan()
	if err != nil {
		return found(skip("not checked: the checks of spec and drift say why"))
	}
	tree, err := v.FilesAfter(plan)
	if err != nil {
		return found(skip("not checked: %v", err))
	}
	q := v.ContextQuestion(tree)
	exceeded, err := q.Exceeded(v.Budgets())
	if err != nil {
		return found(skip("not checked: %v", err))
	}
	var out []Finding
	for _, x := range exceeded {
		out = append(out, warn(v.ExcessFix(x), "%s: %s", reconcile.Position(x.Budget.Pos), v.ExcessText(x)))
	}
	unchecked, why := q.Unchecked(v.Budgets())
	for i, b := range unchecked {
		out = append(out, skip("%s: the budget of %s is not checked: %s", reconcile.Position(b.Pos), b.Runtime, why[i]))
	}
	if q.Only, err = v.ProgramsHere(); err != nil || len(q.Only) == 0 {
		return found(out...) // the check of facts says why
	}
	r, err := contextreport.New(q)
	if err != nil {
		return found(append(out, skip("not checked: %v", err))...)
	}
	for _, p := range r.Programs {
		for _, text := range p.CutTexts() {
			out = append(out, warn(fmt.Sprintf("shorten the texts that aisync context %s lists as notes and rules", p.ID), "%s takes %s of such texts in all, and cuts off the end of %s: %s are lost, from line %d on",
				p.ID, quantity.Memory(p.Limit), v.Places.Short(v.Cwd, text.Path), quantity.Bytes(int64(text.Bytes)), text.Line))
		}
	}
	return found(out...)
}
