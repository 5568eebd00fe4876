package cli

import (
	"bytes"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table lays out lines whose cells end with tabs in columns, two blanks apart. On
// a terminal the last cell of a line is wrapped, below its own column, to the
// width; files and pipes get each row as one line. Call Flush at the end.
type Table struct {
	out   io.Writer
	width int // of the terminal; 0 if there is none
	rows  bytes.Buffer
}

// Table returns an empty table for the standard output.
func (a *App) Table() *Table {
	return &Table{out: a.Out, width: a.Columns()}
}

// Write takes rows, or parts of them.
func (t *Table) Write(b []byte) (int, error) { return t.rows.Write(b) }

// Flush prints the rows and forgets them.
func (t *Table) Flush() error {
	raw := strings.Split(t.rows.String(), "\n")
	var laid bytes.Buffer
	w := tabwriter.NewWriter(&laid, 0, 0, 2, ' ', 0)
	_, _ = t.rows.WriteTo(w) // a buffer takes everything
	_ = w.Flush()
	var out strings.Builder
	for i, line := range strings.SplitAfter(laid.String(), "\n") {
		text := raw[i][strings.LastIndexByte(raw[i], '\t')+1:]
		out.WriteString(hang(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), text), text, t.width))
		if strings.HasSuffix(line, "\n") {
			out.WriteByte('\n')
		}
	}
	_, err := io.WriteString(t.out, out.String())
	return err
}

// Hang returns prefix and text, which on a terminal is wrapped to its width below
// where it begins.
func (a *App) Hang(prefix, text string) string { return hang(prefix, text, a.Columns()) }

// Columns is the width of the terminal that shows the standard output, 0 if none
// does.
func (a *App) Columns() int {
	if !IsTerminal(a.Out) {
		return 0
	}
	return terminalWidth(a.Out)
}

// hang is App.Hang for a width. A prefix that leaves no room for words changes
// nothing.
func hang(prefix, text string, width int) string {
	const least = 20 // columns that words need
	bare := prefix
	for _, sequence := range Palette {
		bare = strings.ReplaceAll(bare, sequence, "")
	}
	start := utf8.RuneCountInString(bare)
	if width < start+least || start+utf8.RuneCountInString(text) <= width {
		return prefix + text
	}
	var out strings.Builder
	out.WriteString(prefix)
	at := start
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			out.WriteString("\n" + strings.Repeat(" ", start))
			at = start
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += n
	}
	return out.String()
}
