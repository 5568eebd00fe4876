package drift

import (
	"context"
	"errors"
	"io"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// driftAll looks at every project below the host's roots, one after the other.
// A project that cannot be checked is told with the others, and makes the exit
// code 1.
func driftAll(ctx context.Context, a *cli.App, s stack.Scope, f driftFlags, mode cli.DiffMode) error {
	if s != stack.ScopeProject || a.Flags.Project != "" {
		return cli.Usagef("--all is about all projects: it goes neither with --scope %s nor with --project", string(s))
	}
	p, err := a.HostPlaces()
	if err != nil {
		return err
	}
	dirs, err := drift.Projects(ctx, a.Machine(p))
	if err != nil {
		return err
	}
	cwd, err := a.Cwd()
	if err != nil {
		return err
	}
	var found []drift.ProjectReport
	var views []*drift.Report
	for _, dir := range dirs {
		one := *a
		one.Flags.Project = dir
		one.Err = io.Discard // what --ignore names nowhere is no matter in one project
		v, err := lookForDrift(ctx, &one, s, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row := drift.ProjectReport{Project: p.Short(cwd, dir), Report: v}
		if err != nil {
			var usage *cli.UsageError
			if errors.As(err, &usage) {
				return err // of the command line: it is the same in every project
			}
			row.Error, row.Report = err.Error(), drift.Empty()
			row.Unknown = []drift.Difference{drift.Unchecked(err)}
		}
		row.FormatVersion = cli.ViewVersion
		row.Report.Prefix = drift.PrefixFrom(cwd, dir)
		found, views = append(found, row), append(views, row.Report)
	}
	if err := printAll(a, found, views, f.format, mode); err != nil {
		return err
	}
	return f.verdict(views...)
}

func printAll(a *cli.App, found []drift.ProjectReport, views []*drift.Report, format string, mode cli.DiffMode) error {
	switch format {
	case "json":
		return a.WriteJSON(struct {
			FormatVersion string                `json:"format_version"`
			Projects      []drift.ProjectReport `json:"projects"`
			Summary       drift.Summary         `json:"summary"`
		}{cli.ViewVersion, cli.OrEmpty(found), drift.Summarize(found)})
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
	paint := a.Paint()
	for _, p := range found {
		switch {
		case p.Error != "":
			a.Printf("%s  %s\n", paint.Bold(termtext.Safe(p.Project)), paint.Cyan("could not be checked: "+cli.OneMessage(p.Error)))
		case !p.InOrder() || a.Flags.Verbose:
			a.Printf("%s\n", paint.Bold(termtext.Safe(p.Project)))
			view.DriftText(p.Report, a.Out, paint, mode)
			a.Printf("\n")
		}
	}
	s := drift.Summarize(found)
	a.Printf("%s: %d in order, %d drifted, %d pending, %d unknown, %d could not be checked.\n", quantity.Count(s.Projects, "project"), s.InOrder, s.Drifted, s.Pending, s.Unknown, s.Failed)
	return nil
}
