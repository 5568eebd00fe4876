package models

import (
	"slices"
	"strings"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/quantity"
)

// part is one share of the memory that a bar shows.
type part struct {
	name  string
	bytes int64
	plain string // its sign without colors
	block string // its sign with them
	paint func(cli.Painter, string) string
}

// partsOf are the shares of n, and what v has left: with graphics memory and main
// memory both.
func partsOf(n hosts.Need, v hosts.Verdict) []part {
	kept := n.Prompts + n.Sequences*n.Checkpoints*n.Checkpoint
	all := []part{
		{"weights", n.Weights, "#", "█", cli.Painter.Cyan},
		{"cache", n.KV + n.State, "=", "█", cli.Painter.Green},
		{"projector", n.Projector, "+", "▓", cli.Painter.Cyan},
		{"compute", n.Compute, "-", "█", cli.Painter.Yellow},
		{"old conversations", kept, "~", "▒", cli.Painter.Green},
		{"room", max(0, v.Budget+v.MainBudget-n.Total-kept), ".", "░", cli.Painter.Dim},
	}
	return slices.DeleteFunc(all, func(x part) bool { return x.bytes <= 0 })
}

// mostColumns is the width of a bar, where no terminal is narrower.
const mostColumns = 76

// sayBar prints the bar of n, and what its signs stand for.
func sayBar(a *cli.App, n hosts.Need, v hosts.Verdict) {
	width := mostColumns
	if columns := a.Columns(); columns > 0 {
		width = min(width, columns-5)
	}
	parts := partsOf(n, v)
	if text := bar(a.Paint(), parts, width); text != "" {
		a.Printf("    %s\n%s\n", text, a.Hang("    ", legend(a.Paint(), parts)))
	}
}

// bar draws parts in width columns; each has one at least. Beyond
// the budget nothing is room.
func bar(p cli.Painter, parts []part, width int) string {
	var sum int64
	for _, x := range parts {
		sum += x.bytes
	}
	if sum <= 0 || width < len(parts) {
		return ""
	}
	columns := make([]int, len(parts))
	used, widest := 0, 0
	for i, x := range parts {
		columns[i] = max(1, int(float64(width)*(float64(x.bytes)/float64(sum))))
		used += columns[i]
		if columns[i] > columns[widest] {
			widest = i
		}
	}
	columns[widest] += width - used
	var b strings.Builder
	for i, x := range parts {
		b.WriteString(sign(p, x, columns[i]))
	}
	return b.String()
}

// legend names the parts of a bar, with their sizes.
func legend(p cli.Painter, parts []part) string {
	var words []string
	for _, x := range parts {
		words = append(words, sign(p, x, 1)+" "+x.name+" "+quantity.Memory(x.bytes))
	}
	return strings.Join(words, "  ")
}

// sign draws n columns of x: blocks in its color, or its plain sign.
func sign(p cli.Painter, x part, n int) string {
	if n <= 0 {
		return ""
	}
	if !p {
		return strings.Repeat(x.plain, n)
	}
	return x.paint(p, strings.Repeat(x.block, n))
}
