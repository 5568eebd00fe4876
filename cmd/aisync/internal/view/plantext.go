package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// PlanText says how a plan is printed.
type PlanText struct {
	Paint         cli.Painter
	Diff          cli.DiffMode
	Command       string // that shows everything: "aisync plan"
	Host, Project string // titles of the two parts
	Unchanged     bool   // also what is in order
}

// Render prints a whole view: what changes, what nobody decided, what cannot
// be done, notes and totals, always all of it.
func (t PlanText) Render(w io.Writer, v *Plan) {
	t.rows(w, v.Changes, v.next)
	if t.Unchanged && len(v.unchanged) > 0 {
		fmt.Fprintln(w, t.Paint.Bold("In order"))
		for _, a := range v.unchanged {
			fmt.Fprintln(w, "    "+termtext.Safe(string(a)))
		}
		fmt.Fprintln(w)
	}
	t.conflicts(w, v.Conflicts)
	t.unsupported(w, v.Unsupported)
	t.Effects(w, v.Effects)
	t.notTrusted(w, v.NotTrusted)
	t.notes(w, v.Notes)
	t.totals(w, v)
}

// rows prints resources: the host's, then the project's, by kind and address.
func (t PlanText) rows(w io.Writer, rows []reconcile.ChangeDoc, next map[reconcile.Address]string) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b reconcile.ChangeDoc) int {
		if p, q := isProject(a), isProject(b); p != q {
			if q {
				return -1
			}
			return 1
		}
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return strings.Compare(string(a.Address), string(b.Address))
	})
	for i, r := range rows {
		if i == 0 || isProject(r) != isProject(rows[i-1]) {
			if i > 0 {
				fmt.Fprintln(w)
			}
			title := t.Host
			if isProject(r) {
				title = t.Project
			}
			fmt.Fprintln(w, t.Paint.Bold(termtext.Safe(title)))
		}
		t.row(w, r, next[r.Address])
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
	}
}

func (t PlanText) row(w io.Writer, r reconcile.ChangeDoc, next string) {
	what := r.Meaning
	short := wholeText(r) && t.Diff != cli.DiffFull
	if n := len(r.Lines); short && n > 0 {
		what += ", " + quantity.Count(n, "line")
	}
	if r.Fetch > 0 {
		what += ", " + quantity.Bytes(r.Fetch) + " to fetch"
	}
	if r.Drift && !strings.Contains(what, "since the last apply") && !strings.Contains(what, "edited") {
		what += " (drift)"
	}
	fmt.Fprintf(w, "  %s %s  %s%s\n", t.Symbol(r.Action), termtext.Safe(string(r.Address)), termtext.Safe(what), t.Paint.Dim(from(r.Origin)))
	for _, reason := range reasons(r) {
		fmt.Fprintln(w, "      because: "+termtext.Safe(reason))
	}
	if !short {
		RenderDiff(w, t.Paint, r.Lines, t.Diff, "      ", t.Command)
	}
	if next != "" {
		for _, way := range strings.Split(next, "\n") {
			fmt.Fprintln(w, "      "+t.Paint.Yellow("→ "+termtext.Safe(way)))
		}
	}
}

func (t PlanText) Symbol(a reconcile.Action) string {
	s := string(a)
	switch a {
	case reconcile.Create:
		return t.Paint.Green(s)
	case reconcile.Update, reconcile.PutBack:
		return t.Paint.Yellow(s)
	case reconcile.Delete, reconcile.Clash:
		return t.Paint.Red(s)
	case reconcile.Unclear:
		return t.Paint.Cyan(s)
	case reconcile.None:
		return " "
	}
	return t.Paint.Dim(s)
}

// reasons are the whys of a resource's leaves, each once.
func reasons(r reconcile.ChangeDoc) []string {
	var out []string
	for _, l := range r.Leaves {
		if l.Reason != "" && !slices.Contains(out, l.Reason) {
			out = append(out, l.Reason)
		}
	}
	return out
}

// from names the places that ask for something.
func from(origin []reconcile.Position) string {
	var names []string
	for _, p := range origin {
		if s := termtext.Safe(p.String()); s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 3:
		names = append(names[:3], quantity.Count(len(names)-3, "more place"))
	}
	return ", from " + strings.Join(names, " and ")
}

func (t PlanText) conflicts(w io.Writer, list []reconcile.Conflict) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, t.Paint.Bold("The spec contradicts itself"))
	for _, c := range list {
		name := string(c.Address)
		if c.Key != "" {
			name += " " + string(c.Key)
		}
		fmt.Fprintf(w, "  %s %s  %s\n", t.Symbol(reconcile.Clash), termtext.Safe(name), termtext.Safe(c.Reason))
		for _, p := range c.Origin {
			if p.String() != "" {
				fmt.Fprintln(w, "      at "+termtext.Safe(p.String()))
			}
		}
		if c.Hint != "" {
			fmt.Fprintln(w, "      "+t.Paint.Yellow(termtext.Safe(c.Hint)))
		}
	}
	fmt.Fprintln(w)
}

func (t PlanText) unsupported(w io.Writer, list []reconcile.Unsupported) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, t.Paint.Bold("Not done by this version"))
	for _, u := range list {
		fmt.Fprintf(w, "  %s %s  %s%s\n", t.Paint.Dim("x"), termtext.Safe(string(u.Address)), termtext.Safe(u.Reason), t.Paint.Dim(from(u.Origin)))
	}
	fmt.Fprintln(w)
}

func (t PlanText) notes(w io.Writer, list []reconcile.Note) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, t.Paint.Bold("Notes"))
	for _, n := range list {
		text := termtext.Safe(n.Text) + t.Paint.Dim(from(n.Origin))
		if n.Warning {
			text = t.Paint.Yellow("warning: ") + text
		}
		fmt.Fprintln(w, "  "+text)
	}
	fmt.Fprintln(w)
}

// totals prints the sums. Nothing at all to do is one sentence.
func (t PlanText) totals(w io.Writer, v *Plan) {
	s := v.Summary
	if len(v.Changes)+len(v.Conflicts) == 0 {
		line := "No changes."
		if n := len(v.Effects); n > 0 {
			line = fmt.Sprintf("No changes to files. %s for your yes.", effects.Waiting(n))
		}
		if s.Unsupported > 0 {
			line += fmt.Sprintf(" %d unsupported.", s.Unsupported)
		}
		fmt.Fprintln(w, line)
		return
	}
	line := fmt.Sprintf("Plan: %d to add, %d to change, %d to destroy.", s.Create, s.Update, s.Delete)
	var more []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{s.Accept, "to adopt"}, {s.Release, "to release"}, {s.Conflict, "undecided"},
		{s.Unknown, "unknown"}, {s.Unsupported, "unsupported"},
	} {
		if part.n > 0 {
			more = append(more, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(more) > 0 {
		line += " Also " + strings.Join(more, ", ") + "."
	}
	fmt.Fprintln(w, t.Paint.Bold(line))
	if s.FetchBytes > 0 {
		line := "To fetch: " + quantity.Bytes(s.FetchBytes) + "."
		if v.Disk != nil {
			line += fmt.Sprintf(" Free at %s: %s now, %s after.", termtext.Safe(v.Disk.Path), quantity.Bytes(v.Disk.Before), quantity.Bytes(v.Disk.After))
		}
		fmt.Fprintln(w, line)
	}
	if install := installs(v.Unsupported); len(install) > 0 {
		fmt.Fprintln(w, "To install by hand: "+strings.Join(install, ", ")+".")
	}
}

// installs names the programs and packages that somebody has to install.
func installs(list []reconcile.Unsupported) []string {
	var out []string
	for _, u := range list {
		if k := u.Address.Kind(); k == "package" || k == "runtime" {
			out = append(out, termtext.Safe(u.Address.Name()))
		}
	}
	return out
}
