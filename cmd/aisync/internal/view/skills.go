package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/app/meaning"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// Skill is what happens to the files of one skill.
type Skill struct {
	Address reconcile.Address    `json:"address"` // the pattern that means its files, for --target
	Owners  []string             `json:"owners"`
	Action  reconcile.Action     `json:"action"` // "~" where its files have several
	Meaning string               `json:"meaning"`
	Files   int                  `json:"files"`
	Origin  []reconcile.Position `json:"origin"`

	rows []reconcile.ChangeDoc
}

// skillOf returns the skill of rows, which are its files.
func skillOf(rows []reconcile.ChangeDoc) Skill {
	s := Skill{Address: rows[0].Skill, Owners: rows[0].Owners, Action: rows[0].Action, Files: len(rows), rows: rows}
	var meanings []string
	count := map[string]int{}
	for _, r := range rows {
		if r.Action != s.Action {
			s.Action = reconcile.Update
		}
		if count[r.Meaning]++; count[r.Meaning] == 1 {
			meanings = append(meanings, r.Meaning)
		}
		for _, p := range r.Origin {
			if !slices.Contains(s.Origin, p) {
				s.Origin = append(s.Origin, p)
			}
		}
	}
	files := quantity.Count(len(rows), "file")
	if len(meanings) == 1 {
		s.Meaning = meanings[0] + ", " + files
		return s
	}
	for i, m := range meanings {
		meanings[i] = fmt.Sprintf("%s (%d)", m, count[m])
	}
	s.Meaning = files + ": " + strings.Join(meanings, "; ")
	return s
}

// skillsOf returns the skills among rows, in their order.
func skillsOf(rows []reconcile.ChangeDoc) []Skill {
	out := []Skill{}
	for _, group := range folded(rows, func(r reconcile.ChangeDoc) reconcile.ChangeDoc { return r }) {
		if group[0].Skill != "" && !apart(group[0]) {
			out = append(out, skillOf(group))
		}
	}
	return out
}

// apart reports whether a person decides on r for itself.
func apart(r reconcile.ChangeDoc) bool {
	return r.Action == reconcile.Clash || r.Action == reconcile.Unclear
}

// folded groups the rows of list that people see as one: the files of a skill, but
// those that stand apart. A group stands where its first row does.
func folded[R any](list []R, doc func(R) reconcile.ChangeDoc) [][]R {
	type skill struct {
		address reconcile.Address
		project bool
	}
	var out [][]R
	at := map[skill]int{}
	for _, r := range list {
		d := doc(r)
		key := skill{d.Skill, isProject(d)}
		if d.Skill != "" && !apart(d) {
			if i, known := at[key]; known {
				out[i] = append(out[i], r)
				continue
			}
			at[key] = len(out)
		}
		out = append(out, []R{r})
	}
	return out
}

// render prints what differs in the files of s: reasons, and differences that are not
// the whole text of a file.
func (s Skill) render(w io.Writer, p cli.Painter, mode cli.DiffMode, command string) {
	var because []string
	for _, r := range s.rows {
		for _, reason := range reasons(r) {
			if !slices.Contains(because, reason) {
				because = append(because, reason)
			}
		}
	}
	for _, reason := range because {
		fmt.Fprintln(w, "      because: "+termtext.Safe(reason))
	}
	folder := strings.TrimSuffix(string(s.Address), "*")
	for _, r := range s.rows {
		if len(r.Lines) > 0 && (mode == cli.DiffFull || !WholeText(r)) {
			fmt.Fprintln(w, "      "+termtext.Safe(strings.TrimPrefix(string(r.Address), folder)+": "+r.Meaning))
			RenderDiff(w, p, r.Lines, mode, "        ", command)
		}
	}
}

// docsOf returns the rows of differences.
func docsOf(list []drift.Difference) []reconcile.ChangeDoc {
	out := make([]reconcile.ChangeDoc, len(list))
	for i, d := range list {
		out[i] = d.ChangeDoc
	}
	return out
}

// inSkills says how many of rows are files that are shown as one row for their skill;
// "" where none are.
func inSkills(rows []reconcile.ChangeDoc) string {
	files, folders := 0, 0
	for _, s := range skillsOf(rows) {
		if s.Files > 1 {
			files += s.Files
			folders++
		}
	}
	if folders == 0 {
		return ""
	}
	return fmt.Sprintf("%d are files in %s", files, quantity.Count(folders, "skill folder"))
}

// doneOf returns the rows of p that res did, as far as inSkills reads them.
func doneOf(p *reconcile.Plan, res reconcile.Result) []reconcile.ChangeDoc {
	skill := meaning.Skills(p)
	rows := make([]reconcile.ChangeDoc, len(res.Done))
	for i, a := range res.Done {
		rows[i] = reconcile.ChangeDoc{Address: a, Skill: skill(a)}
	}
	return rows
}

// withoutCounted is explain without the whole texts of files that are one row with
// others of their skill: comparing them, and hiding secrets in them, takes longer than
// the rest of a plan.
func withoutCounted(p *reconcile.Plan, explain func(reconcile.Change) []reconcile.Line) func(reconcile.Change) []reconcile.Line {
	skill := meaning.Skills(p)
	files := map[reconcile.Address]int{}
	counted := func(c reconcile.Change) (reconcile.Address, bool) {
		of := skill(c.Target.Resource.Address)
		return of, of != "" && (c.Action == reconcile.Create || c.Action == reconcile.Delete) && len(c.Leaves) == 1 && c.Leaves[0].Key == ""
	}
	for _, c := range p.Changes {
		if of, yes := counted(c); yes {
			files[of]++
		}
	}
	return func(c reconcile.Change) []reconcile.Line {
		if of, yes := counted(c); yes && files[of] > 1 {
			return nil
		}
		return explain(c)
	}
}
