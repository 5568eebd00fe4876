package view

import (
	"fmt"
	"io"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// Sections returns the findings of v by kind, the gravest first.
func Sections(v *drift.Report) []Section {
	return []Section{{"drift", v.Drift}, {"pending", v.Pending}, {"unknown", v.Unknown}}
}

// Section is the findings of one kind: drift, pending or unknown.
type Section struct {
	Word string
	List []drift.Difference
}

// DriftText prints v as text.
func DriftText(v *drift.Report, w io.Writer, p cli.Painter, mode cli.DiffMode) {
	for _, s := range Sections(v) {
		for _, group := range folded(s.List, func(f drift.Difference) reconcile.ChangeDoc { return f.ChangeDoc }) {
			f, word := group[0], s.Word
			switch word {
			case "drift":
				word = p.Red(word)
			case "pending":
				word = p.Yellow(word)
			default:
				word = p.Cyan(word)
			}
			if len(group) > 1 {
				of := skillOf(docsOf(group))
				fmt.Fprintf(w, "%s  %s  %s%s\n", word, p.Bold(termtext.Safe(of.Address.Name())), termtext.Safe(of.Meaning), p.Dim(from(of.Origin)))
				of.render(w, p, mode, "aisync drift")
				continue
			}
			fmt.Fprintf(w, "%s  %s  %s%s\n", word, p.Bold(termtext.Safe(f.Place())), termtext.Safe(f.Meaning), p.Dim(from(f.Origin)))
			if len(f.Places) > 1 {
				for _, at := range f.Places {
					fmt.Fprintf(w, "      %s:%d: %s\n", termtext.Safe(f.File), at.Line, termtext.Safe(at.Text))
				}
			}
			if !WholeText(f.ChangeDoc) || mode == cli.DiffFull {
				RenderDiff(w, p, f.Lines, mode, "      ", "aisync drift")
			}
		}
	}
	for _, n := range v.Notes {
		if n.Warning {
			fmt.Fprintln(w, p.Yellow("warning: ")+termtext.Safe(n.Text)+p.Dim(from(n.Origin)))
		}
	}
	if v.NotChecked != "" {
		fmt.Fprintln(w, "pending: not checked: "+termtext.Safe(v.NotChecked))
	}
	if v.NotSetUp > 0 {
		fmt.Fprintf(w, "%s that git does not carry %s not set up on this machine; run: aisync apply\n", quantity.Count(v.NotSetUp, "resource"), areOrIs(v.NotSetUp))
	}
	switch {
	case v.InOrder() && v.NotChecked == "":
		fmt.Fprintf(w, "No drift, nothing pending: %s in order.\n", quantity.Count(v.Checked, "resource"))
	case v.InOrder():
		fmt.Fprintf(w, "No drift: %s as recorded.\n", quantity.Count(v.Checked, "resource"))
	default:
		fmt.Fprintln(w, p.Bold(fmt.Sprintf("%d drifted, %d pending, %d unknown of %s.", len(v.Drift), len(v.Pending), len(v.Unknown), quantity.Count(v.Checked, "resource"))))
	}
}

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// message returns a difference with its first lines as one text.
func message(f drift.Difference) string {
	text := string(f.Address) + ": " + f.Meaning + from(f.Origin)
	for i, l := range f.Lines {
		if i == DiffLines {
			return text + fmt.Sprintf("\n… %s", quantity.Count(len(f.Lines)-i, "more line"))
		}
		op := string(rune(l.Op))
		if l.Op == '@' {
			op = ""
		}
		text += "\n" + op + l.Text
	}
	return text
}
