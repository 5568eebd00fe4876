package drift

import (
	"context"
	"errors"
	"strings"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// driftAll checks every project. One that cannot be checked is listed with its error
// and makes the exit code 1.
func driftAll(ctx context.Context, r *everyproject.Run, f driftFlags) error {
	mode, err := f.check(r.App)
	if err != nil {
		return err
	}
	args := r.Command([]string{"format", "diff", "fail-on"}, nil, "--format=json")
	var found []drift.ProjectReport
	var views []*drift.Report
	for _, answer := range r.Each(ctx, r.List, everyproject.Parallel(), func(projects.Project) []string { return args }, nil) {
		row := drift.ProjectReport{Project: r.Name(answer.Dir), Report: drift.Empty()}
		failed := answer.Error()
		switch {
		case answer.Code == cli.ExitUsage:
			return &cli.UsageError{Text: failed} // the command line is wrong for every project
		case answer.Out == "":
		default:
			if err := everyproject.Decode(answer, row.Report); err != nil {
				failed = err.Error()
			} else {
				failed = ""
			}
		}
		if failed != "" {
			row.Error, row.Report = failed, drift.Empty()
			row.Unknown = []drift.Difference{drift.Unchecked(errors.New(failed))}
		}
		row.FormatVersion = cli.ViewVersion
		row.Report.From(r.Cwd(), answer.Dir)
		found, views = append(found, row), append(views, row.Report)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := printAll(r, found, views, f.format, mode); err != nil {
		return err
	}
	return f.verdict(views...)
}

func printAll(r *everyproject.Run, found []drift.ProjectReport, views []*drift.Report, format string, mode cli.DiffMode) error {
	a := r.App
	switch format {
	case "json":
		return a.WriteJSON(struct {
			FormatVersion string                     `json:"format_version"`
			Projects      []drift.ProjectReport      `json:"projects"`
			WithoutSpec   []everyproject.WithoutSpec `json:"without_spec"`
			Summary       drift.Summary              `json:"summary"`
		}{cli.ViewVersion, cli.OrEmpty(found), r.WithoutSpec(), drift.Summarize(found)})
	case "sarif":
		return a.WriteJSON(view.SARIF(cli.VersionText(), views...))
	case "github":
		for _, v := range views {
			view.GitHub(v, a.Out)
		}
		return nil
	case "junit":
		suites := make([]view.JunitSuite, len(found))
		for i, p := range found {
			suites[i] = view.SuiteOf(p.Report, "aisync drift "+termtext.Safe(p.Project))
		}
		return view.Junit(a.Out, suites...)
	}
	var rows []everyproject.Row
	groups := everyproject.Groups{Order: []string{"drift", "pending", "unknown", "warning"}}
	for _, p := range found {
		if row := rowOf(p); p.Error != "" || !p.InOrder() || a.Flags.Verbose || p.NotChecked != "" {
			rows = append(rows, row)
		}
		for _, s := range view.Sections(p.Report) {
			for _, d := range s.List {
				if p.Error == "" {
					groups.Add(p.Project, changeOf(s.Word, d))
				}
			}
		}
		for _, n := range p.Notes {
			if n.Warning {
				groups.Add(p.Project, everyproject.Change{Word: "warning", What: n.Text})
			}
		}
	}
	r.PrintRows(rows)
	groups.Print(r, "What differs", len(found), mode, paintWord)
	r.PrintWithoutSpec()
	r.Gap()
	s := drift.Summarize(found)
	a.Printf("%s: %d in order, %d drifted, %d pending, %d unknown, %d could not be checked.\n", quantity.Count(s.Projects, "project"), s.InOrder, s.Drifted, s.Pending, s.Unknown, s.Failed)
	return nil
}

// rowOf returns the line of a project.
func rowOf(p drift.ProjectReport) everyproject.Row {
	row := everyproject.Row{Project: p.Project}
	var words []string
	for _, s := range view.Sections(p.Report) {
		if len(s.List) > 0 {
			words = append(words, quantity.Count(len(s.List), "resource")+" "+map[string]string{"drift": "edited", "pending": "pending", "unknown": "unknown"}[s.Word])
		}
	}
	switch {
	case p.Error != "":
		row.Text, row.Failed = "could not be checked: "+cli.OneMessage(p.Error), true
	case len(words) > 0:
		row.Text = strings.Join(words, ", ")
	default:
		row.Text = "in order"
	}
	if p.NotChecked != "" {
		row.Text += "; pending: not checked: " + p.NotChecked
	}
	return row
}

// changeOf returns d as a change that others may equal.
func changeOf(word string, d drift.Difference) everyproject.Change {
	return everyproject.Change{Word: word, What: d.File, Why: d.Meaning, Detail: string(d.Address), Lines: d.Lines, Whole: view.WholeText(d.ChangeDoc)}
}

func paintWord(p cli.Painter, word string) string {
	switch word {
	case "drift":
		return p.Red(word)
	case "pending", "warning":
		return p.Yellow(word)
	}
	return p.Cyan(word)
}
