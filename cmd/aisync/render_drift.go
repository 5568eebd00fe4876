package main

import (
	"fmt"
	"io"
	"path"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

func (f difference) place() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// at is where a report for a program points to: a file, relative to the
// repository, and a line of it, 0 for none. What is no file of the project is
// pointed to where it is asked for; ok is false where nothing can be.
func (v *driftView) at(f difference) (file string, line int, ok bool) {
	if f.Address.InProject() {
		return path.Join(v.prefix, f.File), f.Line, true
	}
	for _, o := range f.Origin {
		if path.Base(o.File) == place.SpecFile {
			return path.Join(v.prefix, place.SpecFile), o.Line, true
		}
	}
	return "", 0, false
}

// sections are the findings with the word for them.
func (v *driftView) sections() []section {
	return []section{{"drift", v.Drift}, {"pending", v.Pending}, {"unknown", v.Unknown}}
}

type section struct {
	word string
	list []difference
}

// text prints v for people.
func (v *driftView) text(w io.Writer, p painter, mode diffMode) {
	for _, s := range v.sections() {
		for _, f := range s.list {
			word := s.word
			switch word {
			case "drift":
				word = p.red(word)
			case "pending":
				word = p.yellow(word)
			default:
				word = p.cyan(word)
			}
			fmt.Fprintf(w, "%s  %s  %s%s\n", word, p.bold(termtext.Safe(f.place())), termtext.Safe(f.Meaning), p.dim(from(f.Origin)))
			if len(f.Places) > 1 {
				for _, at := range f.Places {
					fmt.Fprintf(w, "      %s:%d: %s\n", termtext.Safe(f.File), at.Line, termtext.Safe(at.Text))
				}
			}
			if !wholeText(f.ChangeDoc) || mode == diffFull {
				renderDiff(w, p, f.Lines, mode, "      ", "aisync drift")
			}
		}
	}
	for _, n := range v.Notes {
		if n.Warning {
			fmt.Fprintln(w, p.yellow("warning: ")+termtext.Safe(n.Text)+p.dim(from(n.Origin)))
		}
	}
	if v.NotChecked != "" {
		fmt.Fprintln(w, "pending: not checked: "+termtext.Safe(v.NotChecked))
	}
	if v.NotSetUp > 0 {
		fmt.Fprintf(w, "%s that git does not carry %s not set up on this machine (aisync apply does it).\n", quantity.Count(v.NotSetUp, "resource"), areOrIs(v.NotSetUp))
	}
	switch {
	case v.inOrder() && v.NotChecked == "":
		fmt.Fprintf(w, "No drift, nothing pending: %s in order.\n", quantity.Count(v.Checked, "resource"))
	case v.inOrder():
		fmt.Fprintf(w, "No drift: %s as recorded.\n", quantity.Count(v.Checked, "resource"))
	default:
		fmt.Fprintln(w, p.bold(fmt.Sprintf("%d drifted, %d pending, %d unknown of %s.", len(v.Drift), len(v.Pending), len(v.Unknown), quantity.Count(v.Checked, "resource"))))
	}
}

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// message is one difference in one text.
func (f difference) message() string {
	text := string(f.Address) + ": " + f.Meaning + from(f.Origin)
	for i, l := range f.Lines {
		if i == diffLines {
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
