package update

import (
	"fmt"
	"strings"
	"time"

	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/app/clone"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// mostCommits is how many commits are listed.
const mostCommits = 12

// mostFiles is how many changed files are shown without --diff=full.
const mostFiles = 40

// print shows the review of m to a person.
func (m *specMove) print(a *cli.App, mode cli.DiffMode) {
	line := func(prefix, text string) { a.Printf("%s\n", a.Hang(prefix, termtext.Safe(text))) }
	a.Printf("%s %s\n", a.Paint().Bold("The spec"), a.Paint().Dim(termtext.Safe(fmt.Sprintf("in %s: %s of %s, %s", m.shown, quantity.Count(len(m.Behind), "commit"), m.Name(), m.URL))))
	printCommits(a, m.Behind)
	m.printHere(a)
	if len(m.Both) > 0 {
		a.Printf("  %s\n", a.Paint().Bold("Changed on both sides:"))
		for _, b := range m.Both {
			at := b.File
			if b.Line > 0 {
				at += fmt.Sprintf(":%d", b.Line)
			}
			a.Printf("    ! %s\n", termtext.Safe(at))
			line("        here: ", orNothing(b.Here))
			line("        "+m.Name()+": ", orNothing(b.There))
		}
		a.Printf("\n")
		return
	}
	t := view.PlanText{Paint: a.Paint()}
	for i, f := range m.Files {
		if i == mostFiles && mode != cli.DiffFull {
			a.Printf("  … %s (aisync update --dry-run --diff=full)\n", quantity.Count(len(m.Files)-i, "more file"))
			break
		}
		a.Printf("  %s %s\n", t.Symbol(reconcile.Action(f.Action)), termtext.Safe(f.File))
		view.RenderDiff(a.Out, a.Paint(), view.DiffLinesOf(f.Diff), mode, "      ", "aisync update --dry-run")
	}
	for _, p := range m.Pins {
		line("  pin ", p)
	}
	for _, n := range m.Notes {
		line("  note: ", n)
	}
	if len(m.Effects) > 0 {
		a.Printf("  %s\n", a.Paint().Bold("New, or changed, in what programs run, call or may do:"))
		printEffects(a, m.Effects, "    ")
	}
	a.Printf("\n")
}

// printHere shows what is here and not in the branch.
func (m *specMove) printHere(a *cli.App) {
	line := func(prefix, text string) { a.Printf("%s\n", a.Hang(prefix, termtext.Safe(text))) }
	if len(m.Ahead) > 0 {
		a.Printf("%s in %s that %s lacks; aisync update --push sends what is committed:\n", quantity.Count(len(m.Ahead), "commit"), termtext.Safe(m.shown), m.Name())
		printCommits(a, m.Ahead)
	}
	if len(m.Edits) > 0 {
		var all []string
		for _, e := range m.Edits {
			all = append(all, e.File+" ("+e.State+")")
		}
		line("Not committed in "+m.shown+": ", strings.Join(all, ", "))
	}
}

func printCommits(a *cli.App, list []clone.Commit) {
	for i, c := range list {
		if i == mostCommits {
			a.Printf("  … %s\n", quantity.Count(len(list)-i, "older commit"))
			break
		}
		when := session.Ago(time.Since(c.Date)) + " ago"
		if ahead := time.Until(c.Date); ahead > 5*time.Minute {
			when = "dated " + c.Date.Format("2006-01-02 15:04") + ", in the future: one clock is wrong"
		}
		a.Printf("%s\n", a.Hang("  "+short(c.ID)+" ", termtext.Safe(termtext.OneLine(c.Subject+" ("+c.Author+", "+when+")"))))
	}
}

// pinText says how a pin of the lock moves.
func pinText(c pin.Change) string {
	if c.New.Kind == "" {
		return c.Old.Kind + " " + c.Old.Name + ": removed"
	}
	return view.ChangeText(c)
}

func orNothing(text string) string {
	if text == "" {
		return "(no line)"
	}
	return termtext.OneLine(text)
}

func countFiles(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}
