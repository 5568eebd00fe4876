package update

import (
	"slices"

	"aisync.dev/aisync/app/review"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// print shows the review of m to a person.
func (m *move) print(a *cli.App, mode cli.DiffMode) {
	m.printAs(a, mode, "of the "+m.Scope+"'s spec", "aisync update "+shellquote.Terminal(m.Name))
}

// printAs is print, with words for where m is, and the command that shows and moves it.
func (m *move) printAs(a *cli.App, mode cli.DiffMode, where, command string) {
	from := short(m.From)
	if m.row.PinnedDate != nil {
		from += " of " + m.row.PinnedDate.Format("2006-01-02")
	}
	a.Printf("%s %s: %s → %s\n", a.Paint().Bold(termtext.Safe(m.Name)), a.Paint().Dim(where), from, short(m.To))
	line := func(prefix, text string) { a.Printf("%s\n", a.Hang(prefix, termtext.Safe(text))) }
	if m.Note != "" {
		line("  ", m.Note)
	}
	if m.Address != m.row.Address {
		line("  ", "in the spec: "+m.row.Address+" → "+m.Address)
	}
	t := view.PlanText{Paint: a.Paint()}
	for _, i := range m.Review.Items {
		a.Printf("  %s %s %s\n", t.Symbol(reconcile.Action(i.Action)), i.Kind, termtext.Safe(title(i)))
		for _, f := range i.Files {
			a.Printf("      %s %s\n", t.Symbol(reconcile.Action(f.Action)), termtext.Safe(f.File))
			view.RenderDiff(a.Out, a.Paint(), view.DiffLinesOf(f.Diff), mode, "        ", command)
		}
	}
	others := quantity.Count(m.Review.Others, "changed file") + " that the spec does not take"
	switch {
	case m.Review.Others > 0 && len(m.Review.Items) == 0:
		a.Printf("  nothing that the spec takes differs; there is %s\n", others)
	case m.Review.Others > 0:
		a.Printf("  besides these, %s\n", others)
	case len(m.Review.Items) == 0 && m.Kind == "source":
		a.Printf("  no file that aisync reads differs\n")
	}
	if len(m.Review.Effects) > 0 {
		a.Printf("  %s\n", a.Paint().Bold("New, or changed, in what programs run, call or may do:"))
		printEffects(a, m.Review.Effects, "    ")
	}
	if len(m.Review.Flagged) > 0 {
		a.Printf("  %s\n", a.Paint().Bold("Flagged: text that attacks the agent that reads it"))
		t.FlaggedFor(a.Out, m.Review.Flagged, command)
	}
	a.Printf("\n")
}

// title is the name of an item, with what it does where the name does not tell it.
func title(i *review.Item) string {
	if i.Does == "" || slices.Contains([]string{"permission", "settings", "git hook"}, i.Kind) {
		return termtext.OneLine(i.Name)
	}
	return termtext.OneLine(i.Name + ": " + i.Does)
}

func printEffects(a *cli.App, list []review.Effect, indent string) {
	for _, e := range list {
		a.Printf("%s\n", a.Hang(indent, termtext.Safe(termtext.OneLine(e.Kind+" "+e.Name+" "+e.Does))))
	}
}
