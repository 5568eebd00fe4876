package apply

import (
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// printSourceDiff shows how the files of a bundle source changed.
func printSourceDiff(a *cli.App, d pin.Diff, mode cli.DiffMode) {
	what := "Bundle source "
	if d.Kind == pin.KindBase {
		what = "Base "
	}
	a.Printf("\n%s\n", a.Paint().Bold(what+termtext.Safe(d.Source)))
	if d.Note != "" {
		a.Printf("  %s\n", termtext.Safe(d.Note))
	}
	t := view.PlanText{Paint: a.Paint()}
	for _, f := range d.Files {
		a.Printf("  %s %s\n", t.Symbol(reconcile.Action(f.Action)), termtext.Safe(f.File))
		t.Findings(a.Out, f.File, f.Flagged, "      ")
		view.RenderDiff(a.Out, a.Paint(), view.DiffLinesOf(f.Diff), mode, "      ", "aisync lock --update")
	}
}
