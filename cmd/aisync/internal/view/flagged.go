package view

import (
	"context"
	"fmt"
	"io"

	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/hostiletext"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// Flagged returns the texts of pinned sources that p writes, in which something is
// found that attacks their reader, and that the person has not accepted.
func Flagged(ctx context.Context, w *stack.View, p *reconcile.Plan) []flagged.Text {
	if w.Spec == nil {
		return nil
	}
	asked := flagged.Asked{Host: w.Spec.Host, Bundles: w.Bundles, Used: w.Declared.Sources}
	return flagged.Undecided(flagged.Of(ctx, asked, stack.TrustedSources(w.Spec.Host), p), w.Store)
}

// Flagged prints texts that wait for approval, each with what was found in it.
func (t PlanText) Flagged(w io.Writer, list []flagged.Text) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, t.Paint.Bold("Flagged: text of sources that attacks the agent that reads it (aisync apply asks)"))
	t.FlaggedFor(w, list, "aisync apply")
	fmt.Fprintln(w)
}

// FlaggedFor prints texts that wait for approval by --accept of command; "" is for
// texts that wait for nothing.
func (t PlanText) FlaggedFor(w io.Writer, list []flagged.Text, command string) {
	for _, x := range list {
		fmt.Fprintf(w, "  %s %s%s\n", t.Paint.Bold(termtext.Safe(x.File)), t.Paint.Dim("of source "+termtext.Safe(x.Source)), t.Paint.Dim(from(x.Origin)))
		t.Findings(w, x.File, x.Findings, "    ")
		if command != "" {
			fmt.Fprintln(w, "    "+t.Paint.Yellow("→ if you have read it and want it: "+command+" --accept "+x.ID))
		}
	}
}

// Findings prints what was found in a file, with what to do.
func (t PlanText) Findings(w io.Writer, name string, list []hostiletext.Finding, indent string) {
	for _, f := range list {
		rule, _ := hostiletext.RuleOf(f.Rule)
		fmt.Fprintf(w, "%s%s:%d: %s: %s: \"%s\"; %s\n", indent, termtext.Safe(name), f.Line, t.Paint.Red(f.Rule), termtext.Safe(f.Says), termtext.Safe(f.Excerpt), rule.Do)
	}
}
