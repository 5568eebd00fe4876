package view

import (
	"fmt"
	"io"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// Sections are the findings with the word for them.
func Sections(v *drift.Report) []Section {
	return []Section{{"drift", v.Drift}, {"pending", v.Pending}, {"unknown", v.Unknown}}
}

type Section struct {
	Word string
	List []drift.Difference
}

// DriftText prints v for people.
func DriftText(v *drift.Report, w io.Writer, p cli.Painter, mode cli.DiffMode) {
	for _, s := range Sections(v) {
		for _, f := range s.List {
			word := s.Word
			switch word {
			case "drift":
				word = p.Red(word)
			case "pending":
				word = p.Yellow(word)
			default:
				word = p.Cyan(word)
			}
			fmt.Fprintf(w, "%s  %s  %s%s\n", word, p.Bold(termtext.Safe(f.Place())), termtext.Safe(f.Meaning), p.Dim(from(f.Origin)))
			if len(f.Places) > 1 {
				for _, at := range f.Places {
					fmt.Fprintf(w, "      %s:%d: %s\n", termtext.Safe(f.File), at.Line, termtext.Safe(at.Text))
				}
			}
			if !wholeText(f.ChangeDoc) || mode == cli.DiffFull {
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
		fmt.Fprintf(w, "%s that git does not carry %s not set up on this machine (aisync apply does it).\n", quantity.Count(v.NotSetUp, "resource"), areOrIs(v.NotSetUp))
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

// message is one difference in one text.
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
