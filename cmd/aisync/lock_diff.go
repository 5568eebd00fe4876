package main

import (
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// printSourceDiff shows how a source moved, as a plan shows its resources.
func (a *app) printSourceDiff(d pin.Diff, mode diffMode) {
	a.printf("\n%s\n", a.paint().bold("Bundle source "+termtext.Safe(d.Source)))
	if d.Note != "" {
		a.printf("  %s\n", termtext.Safe(d.Note))
	}
	t := planText{paint: a.paint()}
	for _, f := range d.Files {
		a.printf("  %s %s\n", t.symbol(reconcile.Action(f.Action)), termtext.Safe(f.File))
		renderDiff(a.out, a.paint(), diffLinesOf(f.Diff), mode, "      ", "aisync lock --update")
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
