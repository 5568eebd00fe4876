package main

import (
	"context"
	"errors"
	"io"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// driftAll looks at every project below the host's roots, one after the other.
// A project that cannot be checked is told with the others, and makes the exit
// code 1.
func (a *app) driftAll(ctx context.Context, s Scope, f driftFlags, mode diffMode) error {
	if s != ScopeProject || a.g.project != "" {
		return usagef("--all is about all projects: it goes neither with --scope %s nor with --project", string(s))
	}
	p, err := a.hostPlaces()
	if err != nil {
		return err
	}
	dirs, err := projects(ctx, a.machine(p))
	if err != nil {
		return err
	}
	cwd, err := a.cwd()
	if err != nil {
		return err
	}
	var found []projectDrift
	var views []*driftView
	for _, dir := range dirs {
		one := *a
		one.g.project = dir
		one.err = io.Discard // what --ignore names nowhere is no matter in one project
		v, err := one.lookForDrift(ctx, s, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row := projectDrift{Project: p.Short(cwd, dir), driftView: v}
		if err != nil {
			var usage *usageError
			if errors.As(err, &usage) {
				return err // of the command line: it is the same in every project
			}
			row.Error, row.driftView = err.Error(), emptyDrift()
			row.Unknown = []difference{unchecked(err)}
		}
		row.FormatVersion = viewVersion
		row.driftView.prefix = prefixFrom(cwd, dir)
		found, views = append(found, row), append(views, row.driftView)
	}
	if err := a.printAll(found, views, f.format, mode); err != nil {
		return err
	}
	return f.verdict(views...)
}

func (a *app) printAll(found []projectDrift, views []*driftView, format string, mode diffMode) error {
	switch format {
	case "json":
		return a.writeJSON(struct {
			FormatVersion string         `json:"format_version"`
			Projects      []projectDrift `json:"projects"`
			Summary       driftSummary   `json:"summary"`
		}{viewVersion, orEmpty(found), summarize(found)})
	case "sarif":
		return a.writeJSON(sarif(versionText(), views...))
	case "github":
		for _, v := range views {
			v.github(a.out)
		}
		return nil
	case "junit":
		suites := make([]junitSuite, len(found))
		for i, p := range found {
			suites[i] = p.junitSuite("aisync drift " + termtext.Safe(p.Project))
		}
		return junit(a.out, suites...)
	}
	paint := a.paint()
	for _, p := range found {
		switch {
		case p.Error != "":
			a.printf("%s  %s\n", paint.bold(termtext.Safe(p.Project)), paint.cyan("could not be checked: "+oneMessage(p.Error)))
		case !p.inOrder() || a.g.verbose:
			a.printf("%s\n", paint.bold(termtext.Safe(p.Project)))
			p.text(a.out, paint, mode)
			a.printf("\n")
		}
	}
	s := summarize(found)
	a.printf("%s: %d in order, %d drifted, %d pending, %d unknown, %d could not be checked.\n", quantity.Count(s.Projects, "project"), s.InOrder, s.Drifted, s.Pending, s.Unknown, s.Failed)
	return nil
}
