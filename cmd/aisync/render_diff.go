package main

import (
	"fmt"
	"io"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// diffMode says how much of a difference is shown.
type diffMode string

const (
	diffShort diffMode = "short" // cut after diffLines; new files by their length only
	diffFull  diffMode = "full"
	diffNone  diffMode = "none"
)

// diffLines is how much of one resource's difference is shown before it is cut.
const diffLines = 20

func parseDiffMode(s string) (diffMode, error) {
	switch m := diffMode(s); m {
	case diffShort, diffFull, diffNone:
		return m, nil
	}
	return "", usagef("--diff %q: want short, full or none", s)
}

// renderDiff prints lines under a resource. command is how all of them can be had.
func renderDiff(w io.Writer, p painter, lines []reconcile.Line, mode diffMode, indent, command string) {
	if mode == diffNone {
		return
	}
	show := lines
	if mode == diffShort && len(lines) > diffLines+3 { // no cut that saves less than it costs
		show = lines[:diffLines]
	}
	for _, l := range show {
		fmt.Fprintln(w, indent+paintLine(p, l))
	}
	if left := len(lines) - len(show); left > 0 {
		fmt.Fprintln(w, indent+p.dim(fmt.Sprintf("… %s (%s --diff=full)", quantity.Count(left, "more line"), command)))
	}
}

func paintLine(p painter, l reconcile.Line) string {
	text := termtext.Safe(l.Text)
	switch l.Op {
	case '+':
		return p.green("+" + text)
	case '-':
		return p.red("-" + text)
	case '~':
		return p.yellow("~" + text)
	case '@':
		return p.cyan(text)
	}
	return " " + text
}
