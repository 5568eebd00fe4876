package drift

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
)

// projectDepth is how many folders below a root a project may lie.
const projectDepth = 5

// ProjectReport is the report of one of several projects.
type ProjectReport struct {
	Project string `json:"project"`         // its folder, with ~ in the person's home
	Error   string `json:"error,omitempty"` // why it could not be checked: then the rest is empty
	*Report
}

// Summary counts projects; one that drifted and is pending counts in both.
type Summary struct {
	Projects int `json:"projects"`
	InOrder  int `json:"in_order"`
	Drifted  int `json:"drifted"`
	Pending  int `json:"pending"`
	Unknown  int `json:"unknown"`
	Failed   int `json:"failed"`
}

// PrefixFrom returns dir relative to cwd, or in full where it does not lie below,
// with a slash at the end.
func PrefixFrom(cwd, dir string) string {
	if rel, err := filepath.Rel(cwd, dir); err == nil && filepath.IsLocal(rel) {
		dir = rel
	}
	return filepath.ToSlash(dir) + "/"
}

// Empty returns a report without differences.
func Empty() *Report {
	return &Report{Drift: []Difference{}, Pending: []Difference{}, Unknown: []Difference{}, Owners: []reconcile.Owner{}, Notes: []reconcile.Note{}}
}

// Unchecked returns the difference for a project that could not be checked.
func Unchecked(err error) Difference {
	return Difference{
		ChangeDoc: reconcile.ChangeDoc{Address: "file:" + place.SpecFile, Kind: "file", Action: reconcile.Unclear, Meaning: "could not be checked: " + strings.ReplaceAll(err.Error(), "\n", "; ")},
		File:      place.SpecFile,
	}
}

// Projects returns the folders of the projects below the roots that the host's
// spec names, down to projectDepth, in lexical order of each root. It skips hidden
// folders, node_modules and vendor. A host without roots is an error.
func Projects(ctx context.Context, m *stack.Machine) ([]string, error) {
	at := *m
	at.Places.Project = "" // the project of the working folder counts like the others
	p := at.Places
	s, err := at.LoadSpec(ctx, schema.Options{})
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
					return nil // a folder that cannot be read holds no project of this user
				}
				return fmt.Errorf("look for projects: %w", err)
			}
			rel, _ := filepath.Rel(dir, path)
			switch name := d.Name(); {
			case d.IsDir() && path != dir && (name[0] == '.' || name == "node_modules" || name == "vendor" || strings.Count(rel, string(filepath.Separator)) >= projectDepth):
				return filepath.SkipDir
			case d.Type().IsRegular() && name == place.SpecFile && !seen[path] && !place.Nested(filepath.Dir(path)):
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

// Summarize counts the projects of found.
func Summarize(found []ProjectReport) Summary {
	s := Summary{Projects: len(found)}
	for _, p := range found {
		switch {
		case p.Error != "":
			s.Failed++
			continue
		case p.InOrder():
			s.InOrder++
		}
		for n, list := range map[*int][]Difference{&s.Drifted: p.Drift, &s.Pending: p.Pending, &s.Unknown: p.Unknown} {
			if len(list) > 0 {
				*n++
			}
		}
	}
	return s
}
