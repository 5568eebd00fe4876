package view

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// PlanText says how a plan is printed.
type PlanText struct {
	Paint         cli.Painter
	Diff          cli.DiffMode
	Command       string // to print in hints: "aisync plan"
	Host, Project string // titles of the two parts
	Unchanged     bool   // list unchanged resources too
}

// Render prints v: changes, conflicts, unsupported declarations, effects, notes and
// totals.
func (t PlanText) Render(w io.Writer, v *Plan) {
	t.rows(w, v.Changes, v)
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
	t.Flagged(w, v.Flagged)
	t.notTrusted(w, v.NotTrusted)
	t.notes(w, v.Notes)
	t.totals(w, v)
}

// rows prints resources: the host's, then the project's, by kind and address.
func (t PlanText) rows(w io.Writer, rows []reconcile.ChangeDoc, v *Plan) {
	rows = slices.Clone(rows)
	sort.SliceStable(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		switch {
		case isProject(a) != isProject(b):
			return isProject(b)
		case a.Kind != b.Kind:
			return a.Kind < b.Kind
		}
		return a.Address < b.Address
	})
	first := true
	project := false
	for _, group := range folded(rows, func(r reconcile.ChangeDoc) reconcile.ChangeDoc { return r }) {
		r := group[0]
		if first || isProject(r) != project {
			if !first {
				fmt.Fprintln(w)
			}
			title := t.Host
			if isProject(r) {
				title = t.Project
			}
			fmt.Fprintln(w, t.Paint.Bold(termtext.Safe(title)))
			first, project = false, isProject(r)
		}
		if len(group) > 1 {
			t.skill(w, skillOf(group), v.Flagged)
			continue
		}
		t.row(w, r, flagged.Rules(v.Flagged, r.Address), v.next[r.Address])
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
	}
}

// skill prints one row for the files of s.
func (t PlanText) skill(w io.Writer, s Skill, texts []flagged.Text) {
	fmt.Fprintf(w, "  %s %s  %s%s\n", t.Symbol(s.Action), termtext.Safe(string(s.Address)), termtext.Safe(s.Meaning), t.Paint.Dim(from(s.Origin)))
	s.render(w, t.Paint, t.Diff, t.Command)
	var rules []string
	for _, r := range s.rows {
		rules = append(rules, flagged.Rules(texts, r.Address)...)
	}
	t.flaggedRow(w, rules)
}

// flaggedRow prints which rules found something in a row.
func (t PlanText) flaggedRow(w io.Writer, rules []string) {
	slices.Sort(rules)
	if rules = slices.Compact(rules); len(rules) > 0 {
		fmt.Fprintln(w, "      "+t.Paint.Red("flagged: "+strings.Join(rules, ", ")+" (below)"))
	}
}

func (t PlanText) row(w io.Writer, r reconcile.ChangeDoc, rules []string, next string) {
	what := r.Meaning
	short := WholeText(r) && t.Diff != cli.DiffFull
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
	t.flaggedRow(w, rules)
	if !short {
		RenderDiff(w, t.Paint, r.Lines, t.Diff, "      ", t.Command)
	}
	if next != "" {
		for _, way := range strings.Split(next, "\n") {
			fmt.Fprintln(w, "      "+t.Paint.Yellow("→ "+termtext.Safe(way)))
		}
	}
}

// Symbol returns the sign of an action, coloured.
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

// reasons returns the reasons of a resource's leaves, each once.
func reasons(r reconcile.ChangeDoc) []string {
	var out []string
	for _, l := range r.Leaves {
		if l.Reason != "" && !slices.Contains(out, l.Reason) {
			out = append(out, l.Reason)
		}
	}
	return out
}

// from names the places of the specs that ask for something, three at most.
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
	fmt.Fprintln(w, t.Paint.Bold("Cannot be done here yet"))
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

// totals prints the sums, or one sentence where nothing changes.
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
	if files := inSkills(v.Changes); files != "" {
		line += " Of these, " + files + "."
	}
	fmt.Fprintln(w, t.Paint.Bold(line))
	if s.FetchBytes > 0 {
		line := "To fetch: " + quantity.Bytes(s.FetchBytes) + "."
		if v.Disk != nil {
			after := quantity.Bytes(v.Disk.After) + " after"
			if v.Disk.After < 0 {
				after = quantity.Bytes(-v.Disk.After) + " too few"
			}
			line += fmt.Sprintf(" Free at %s: %s now, %s.", termtext.Safe(v.Disk.Path), quantity.Bytes(v.Disk.Before), after)
		}
		fmt.Fprintln(w, line)
	}
	if install := installs(v.Unsupported); len(install) > 0 {
		fmt.Fprintln(w, "To install by hand: "+strings.Join(install, ", ")+".")
	}
}

// installs names the programs and packages to install by hand.
func installs(list []reconcile.Unsupported) []string {
	var out []string
	for _, u := range list {
		if k := u.Address.Kind(); k == "package" || k == "runtime" {
			out = append(out, termtext.Safe(u.Address.Name()))
		}
	}
	return out
}
