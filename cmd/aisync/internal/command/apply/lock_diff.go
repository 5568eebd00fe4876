package apply

import (
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// printSourceDiff shows how a source moved, as a plan shows its resources.
func printSourceDiff(a *cli.App, d pin.Diff, mode cli.DiffMode) {
	a.Printf("\n%s\n", a.Paint().Bold("Bundle source "+termtext.Safe(d.Source)))
	if d.Note != "" {
		a.Printf("  %s\n", termtext.Safe(d.Note))
	}
	t := view.PlanText{Paint: a.Paint()}
	for _, f := range d.Files {
		a.Printf("  %s %s\n", t.Symbol(reconcile.Action(f.Action)), termtext.Safe(f.File))
		view.RenderDiff(a.Out, a.Paint(), diffLinesOf(f.Diff), mode, "      ", "aisync lock --update")
	}
}

// diffLinesOf are the lines of a unified diff without the two that name the files.
func diffLinesOf(diff string) []reconcile.Line {
	var out []reconcile.Line
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "--- a/"), strings.HasPrefix(line, "+++ b/"):
		case strings.HasPrefix(line, "@@"):
			out = append(out, reconcile.Line{Op: '@', Text: line})
		case line != "" && strings.ContainsAny(line[:1], "+- "):
			out = append(out, reconcile.Line{Op: line[0], Text: line[1:]})
		case line != "":
			out = append(out, reconcile.Line{Op: ' ', Text: line})
		}
	}
	return out
}
