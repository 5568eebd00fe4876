// Package view shows plans, drift and outcomes, as text and in the formats of other
// programs (JSON, SARIF, JUnit, GitHub), each from one value. It decides nothing.
package view

import (
	"fmt"
	"io"
	"strings"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// DiffLines is how many lines of a resource's difference are shown with --diff short.
const DiffLines = 20

// RenderDiff prints lines below a resource. Where it cuts them, it names command,
// which shows all of them with --diff=full.
func RenderDiff(w io.Writer, p cli.Painter, lines []reconcile.Line, mode cli.DiffMode, indent, command string) {
	if mode == cli.DiffNone {
		return
	}
	show := lines
	if mode == cli.DiffShort && len(lines) > DiffLines+3 { // cutting three lines saves nothing
		show = lines[:DiffLines]
	}
	for _, l := range show {
		fmt.Fprintln(w, indent+paintLine(p, l))
	}
	if left := len(lines) - len(show); left > 0 {
		fmt.Fprintln(w, indent+p.Dim(fmt.Sprintf("… %s (%s --diff=full)", quantity.Count(left, "more line"), command)))
	}
}

func paintLine(p cli.Painter, l reconcile.Line) string {
	text := termtext.Safe(l.Text)
	switch l.Op {
	case '+':
		return p.Green("+" + text)
	case '-':
		return p.Red("-" + text)
	case '~':
		return p.Yellow("~" + text)
	case '@':
		return p.Cyan(text)
	}
	return " " + text
}

// PrintDiff prints a unified diff.
func PrintDiff(a *cli.App, diff string) {
	p := a.Paint()
	for line := range strings.Lines(diff) {
		text := termtext.Safe(strings.TrimRight(line, "\r\n"))
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			text = p.Bold(text)
		case strings.HasPrefix(line, "@@"):
			text = p.Cyan(text)
		case strings.HasPrefix(line, "+"):
			text = p.Green(text)
		case strings.HasPrefix(line, "-"):
			text = p.Red(text)
		}
		a.Printf("%s\n", text)
	}
}

// DiffLinesOf returns the lines of a unified diff without those that name the files.
func DiffLinesOf(diff string) []reconcile.Line {
	var out []reconcile.Line
	names := strings.HasPrefix(diff, "--- ") // and not a line about a changed mode
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		names = names && !strings.HasPrefix(line, "@@")
		switch {
		case names, strings.HasPrefix(line, "--- a/"), strings.HasPrefix(line, "+++ b/"):
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
