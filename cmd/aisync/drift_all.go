package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
)

// projectDepth is how far below a root a project is looked for.
const projectDepth = 5

// projectDrift is what drift found in one of several projects.
type projectDrift struct {
	Project string `json:"project"`         // its folder, with ~ in the person's home
	Error   string `json:"error,omitempty"` // why it could not be checked: then the rest is empty
	*driftView
}

// driftSummary counts projects; one that drifted and is pending counts in both.
type driftSummary struct {
	Projects int `json:"projects"`
	InOrder  int `json:"in_order"`
	Drifted  int `json:"drifted"`
	Pending  int `json:"pending"`
	Unknown  int `json:"unknown"`
	Failed   int `json:"failed"`
}

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
	dirs, err := a.projects(ctx, p)
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
		row.driftView.prefix = prefixFrom(cwd, dir)
		found, views = append(found, row), append(views, row.driftView)
	}
	if err := a.printAll(found, views, f.format, mode); err != nil {
		return err
	}
	return f.verdict(views...)
}

// prefixFrom is dir as reports for programs name it: from where they are made,
// or in full where it does not lie below.
func prefixFrom(cwd, dir string) string {
	if rel, err := filepath.Rel(cwd, dir); err == nil && filepath.IsLocal(rel) {
		dir = rel
	}
	return filepath.ToSlash(dir) + "/"
}

func emptyDrift() *driftView {
	return &driftView{FormatVersion: viewVersion, Drift: []difference{}, Pending: []difference{}, Unknown: []difference{}, Owners: []reconcile.Owner{}, Notes: []reconcile.Note{}}
}

// unchecked stands for a whole project.
func unchecked(err error) difference {
	return difference{
		ChangeDoc: reconcile.ChangeDoc{Address: "file:" + place.SpecFile, Kind: "file", Action: reconcile.Unclear, Meaning: "could not be checked: " + strings.ReplaceAll(err.Error(), "\n", "; ")},
		File:      place.SpecFile,
	}
}

// projects finds the projects below the roots that the host's spec names,
// sorted. Hidden folders and those of packages are left out.
func (a *app) projects(ctx context.Context, p place.Places) ([]string, error) {
	p.Project = "" // the one that we happen to stand in counts like the others
	s, err := a.machine(p).LoadSpec(ctx, schema.Options{})
	if err != nil {
		return nil, err
	}
	if s.Host == nil || len(s.Host.Roots) == 0 {
		return nil, advice.Command(errors.New("no roots are known in which projects lie"), `name them in the spec of the host: roots: ["~/code"]`)
	}
	var out []string
	seen := map[string]bool{}
	for _, root := range s.Host.Roots {
		dir := p.Physical(reconcile.Address("dir:" + root).Path(p.Home))
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if path != dir || errors.Is(err, fs.ErrNotExist) {
					return nil // what cannot be read holds no project of this user
				}
				return fmt.Errorf("look for projects: %w", err)
			}
			rel, _ := filepath.Rel(dir, path)
			switch name := d.Name(); {
			case d.IsDir() && path != dir && (name[0] == '.' || name == "node_modules" || name == "vendor" || strings.Count(rel, string(filepath.Separator)) >= projectDepth):
				return filepath.SkipDir
			case d.Type().IsRegular() && name == place.SpecFile && !seen[path]:
				seen[path] = true
				out = append(out, filepath.Dir(path))
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func summarize(found []projectDrift) driftSummary {
	s := driftSummary{Projects: len(found)}
	for _, p := range found {
		switch {
		case p.Error != "":
			s.Failed++
			continue
		case p.inOrder():
			s.InOrder++
		}
		for n, list := range map[*int][]difference{&s.Drifted: p.Drift, &s.Pending: p.Pending, &s.Unknown: p.Unknown} {
			if len(list) > 0 {
				*n++
			}
		}
	}
	return s
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
			suites[i] = p.junitSuite("aisync drift " + safe(p.Project))
		}
		return junit(a.out, suites...)
	}
	paint := a.paint()
	for _, p := range found {
		switch {
		case p.Error != "":
			a.printf("%s  %s\n", paint.bold(safe(p.Project)), paint.cyan("could not be checked: "+oneMessage(p.Error)))
		case !p.inOrder() || a.g.verbose:
			a.printf("%s\n", paint.bold(safe(p.Project)))
			p.text(a.out, paint, mode)
			a.printf("\n")
		}
	}
	s := summarize(found)
	a.printf("%s: %d in order, %d drifted, %d pending, %d unknown, %d could not be checked.\n", plural(s.Projects, "project"), s.InOrder, s.Drifted, s.Pending, s.Unknown, s.Failed)
	return nil
}
