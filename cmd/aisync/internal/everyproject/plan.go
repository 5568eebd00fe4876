package everyproject

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

// Planned is the plan of one project, as the command printed it.
type Planned struct {
	Answer
	Name   string // of the project
	Failed string // why there is no plan
	NoPart string // why the plan has nothing of what was asked for

	reconcile.PlanDoc
	Skills     []view.Skill     `json:"skills"`
	Undecided  []Effect         `json:"undecided_effects"`
	Flagged    []flagged.Text   `json:"flagged"`
	NotTrusted []map[string]any `json:"not_trusted"`
}

// Effect is an effect that waits for a yes, as plan --json has it.
type Effect struct {
	Program string `json:"program"`
	Class   string `json:"class"`
	Text    string `json:"text"`
	File    string `json:"file"`
	Key     string `json:"key"`
	Digest  string `json:"digest"`
}

// Plans reads the plans that a command printed.
func (r *Run) Plans(answers []Answer) []*Planned {
	var out []*Planned
	for _, a := range answers {
		p := &Planned{Answer: a, Name: r.Name(a.Dir)}
		switch failed := a.Error(); {
		case a.Out != "":
			if err := Decode(a, p); err != nil {
				p.Failed = err.Error()
			}
		case strings.Contains(failed, advice.Unmatched):
			p.NoPart = failed
		default:
			p.Failed = failed
		}
		out = append(out, p)
	}
	return out
}

// Changing counts the resources that an apply changes or records.
func (p *Planned) Changing() int {
	s := p.Summary
	return s.Create + s.Update + s.Delete + s.Accept + s.Release
}

// Text says in a line what the plan holds.
func (p *Planned) Text() string {
	if p.Failed != "" {
		return "failed: " + cli.OneMessage(p.Failed)
	}
	var words []string
	for _, x := range []struct {
		n    int
		text string
	}{
		{p.Summary.Create, "to create"}, {p.Summary.Update, "to change"}, {p.Summary.Delete, "to delete"}, {p.Summary.Accept, "to adopt"},
		{p.Summary.Release, "to release"}, {p.Summary.Conflict, "undecided"}, {p.Summary.Unknown, "unknown"},
	} {
		if x.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", x.n, x.text))
		}
	}
	if n := len(p.Undecided); n > 0 {
		words = append(words, effects.Waiting(n)+" for your yes")
	}
	if n := len(p.Flagged); n > 0 {
		words = append(words, flagged.Waiting(n)+" for your yes")
	}
	if len(words) == 0 {
		return "in order"
	}
	return strings.Join(words, ", ")
}

// InOrder reports whether nothing is to do or to decide.
func (p *Planned) InOrder() bool { return p.Failed == "" && p.Text() == "in order" }

// IsPartOf reports whether p makes the changes that was makes, and asks about nothing
// else.
func (p *Planned) IsPartOf(was *Planned) bool {
	asked := map[string]bool{}
	for _, e := range was.Undecided {
		asked[e.Digest] = true
	}
	for _, t := range was.Flagged {
		asked[t.Digest] = true
	}
	for _, e := range p.Undecided {
		if !asked[e.Digest] {
			return false
		}
	}
	for _, t := range p.Flagged {
		if !asked[t.Digest] {
			return false
		}
	}
	return p.changes() == was.changes()
}

// changes is what must be equal for two plans to do the same.
func (p *Planned) changes() string {
	list := slices.Clone(p.Changes)
	for i := range list {
		list[i].Lines, list[i].Origin, list[i].Meaning = nil, nil, ""
	}
	text, _ := json.Marshal(list) // strings and numbers: cannot fail
	return string(text)
}

// add adds the changes of p to groups: the files of a skill as one.
func (p *Planned) add(groups *Groups) {
	skills := map[reconcile.Address][]reconcile.ChangeDoc{}
	for _, c := range p.Changes {
		if c.Skill != "" && c.Action != reconcile.Clash && c.Action != reconcile.Unclear {
			skills[c.Skill] = append(skills[c.Skill], c)
			continue
		}
		groups.Add(p.Name, Change{Word: string(c.Action), What: string(c.Address), Why: c.Meaning, Lines: c.Lines, Whole: view.WholeText(c)})
	}
	for _, s := range p.Skills {
		text, _ := json.Marshal(skills[s.Address])
		groups.Add(p.Name, Change{Word: string(s.Action), What: string(s.Address), Why: s.Meaning, Detail: fmt.Sprintf("%x", sha256.Sum256(text))})
	}
	for _, c := range p.Conflicts {
		groups.Add(p.Name, Change{Word: string(reconcile.Clash), What: string(c.Address), Why: strings.TrimSpace(string(c.Key) + " " + c.Reason)})
	}
	for _, n := range p.Notes {
		if n.Warning {
			groups.Add(p.Name, Change{Word: "warning", What: n.Text})
		}
	}
}

// Shown are plans grouped for a person.
type Shown struct{ Changes, Effects, Flagged Groups }

// Show groups plans.
func Show(plans []*Planned) *Shown {
	s := &Shown{
		Changes: Groups{Order: []string{"warning"}},
		Effects: Groups{Every: true, Order: []string{effects.Runs.String(), effects.Sends.String(), effects.Loosens.String(), effects.Trusts.String()}},
		Flagged: Groups{Every: true},
	}
	for _, p := range plans {
		p.add(&s.Changes)
		for _, e := range p.Undecided {
			what, where := e.Program+" "+e.Text, "in "+e.File
			if strings.Contains(e.Text, e.File) {
				where = ""
			}
			s.Effects.Add(p.Name, Change{Word: e.Class, What: what, Why: where, Detail: e.Key})
		}
		for _, t := range p.Flagged {
			s.Flagged.Add(p.Name, Change{Word: t.ID, What: t.File + " of source " + t.Source, Why: finding(t), Detail: t.Digest})
		}
	}
	return s
}

// finding is the first finding in a flagged text, in words.
func finding(t flagged.Text) string {
	if len(t.Findings) == 0 {
		return ""
	}
	text := fmt.Sprintf("line %d: %s: %q", t.Findings[0].Line, t.Findings[0].Says, t.Findings[0].Excerpt)
	if n := len(t.Findings); n > 1 {
		text += " and " + quantity.Count(n-1, "more finding")
	}
	return text
}

// PrintPlans prints a line for each plan that is not in order, and what several have
// in common once.
func (r *Run) PrintPlans(plans []*Planned, title string, mode cli.DiffMode) {
	var rows []Row
	for _, p := range plans {
		if !p.InOrder() || r.App.Flags.Verbose {
			rows = append(rows, Row{Project: p.Name, Text: p.Text(), Failed: p.Failed != ""})
		}
	}
	r.PrintRows(rows)
	s := Show(plans)
	s.Changes.Print(r, title, len(plans), mode, signOrWarning)
	s.Effects.Print(r, "Waits for your yes: what programs and git obey in these projects", len(plans), cli.DiffNone, cli.Painter.Yellow)
	s.Flagged.Print(r, "Flagged: text of sources that attacks the agent that reads it", len(plans), cli.DiffNone, cli.Painter.Red)
}

func signOrWarning(p cli.Painter, word string) string {
	if word == "warning" {
		return p.Yellow(word)
	}
	return Sign(p, word)
}
