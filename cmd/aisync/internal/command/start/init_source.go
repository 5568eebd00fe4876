package start

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	editcmd "aisync.dev/aisync/cmd/aisync/internal/command/edit"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// legacyRules is where the scripts of old put a bundle's rules into a project;
// what lies there says which bundles it has.
const legacyRules = ".claude/rules"

// fromSource is what a new project spec says of one source of bundles.
type fromSource struct {
	name, url      string
	bundles, teams []string
}

// recognize looks at the source that a person named, and at the project in dir,
// and says which of its bundles an installer without records put there.
func (s *starter) recognize(ctx context.Context, dir, url string) (*fromSource, error) {
	out := &fromSource{name: editcmd.NameOfSource(url), url: url}
	folder := url
	if bundle.Remote(url) {
		got, cleanup, err := s.bring(ctx, url)
		if err != nil {
			return nil, err
		}
		defer cleanup()
		folder = got
	} else if !strings.HasPrefix(url, "~/") {
		cwd, err := s.Cwd()
		if err != nil {
			return nil, err
		}
		if folder, err = place.ExistingFolder(cwd, url); err != nil {
			return nil, fmt.Errorf("--source: %w", err)
		}
		if out.url, err = filepath.Rel(dir, folder); err != nil || filepath.IsAbs(url) {
			out.url = folder
		}
	}
	if out.name == "." || out.name == "rules" {
		out.name = cli.NameOf(filepath.Base(folder), "rules")
	}
	tree, err := (&bundle.Sources{Home: s.places.Physical(s.places.Home)}).Open(ctx, spec.Source{Name: out.name, URL: folder})
	if err != nil {
		return nil, err
	}
	names, err := fileNames(filepath.Join(dir, legacyRules))
	if err != nil {
		return nil, err
	}
	found, err := tree.Recognize(names)
	if err != nil {
		return nil, fmt.Errorf("--source %s: %w", url, err)
	}
	for _, r := range found {
		s.notes = append(s.notes, fmt.Sprintf("recognized by %s: %s %s (%s)", legacyRules, r.Kind, r.Name, strings.Join(r.Rules, ", ")))
		if r.Kind == bundle.Team {
			out.teams = append(out.teams, r.Name)
		} else {
			out.bundles = append(out.bundles, r.Name)
		}
	}
	if core, err := tree.Core(); err == nil && len(found) == 0 && len(core.Rules) > 0 {
		out.bundles = []string{"."}
		s.notes = append(s.notes, "no bundle of it is recognized here: its generic rules are asked for; there is also "+strings.Join(append(tree.Languages(), tree.Teams()...), ", "))
	}
	return out, nil
}

// fileNames are the names of the entries of dir; none where it is not there.
func fileNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}

// lines are the fields of a project spec that say it.
func (f *fromSource) lines() string {
	refs := func(names []string) string {
		var out []string
		for _, n := range names {
			out = append(out, strconv.Quote(f.name+"//"+n))
		}
		return strings.Join(out, ", ")
	}
	text := fmt.Sprintf("\tsources: {%s: %s}\n", cli.Label(f.name), strconv.Quote(f.url))
	if len(f.bundles) > 0 {
		text += "\tbundles: [" + refs(f.bundles) + "]\n"
	}
	if len(f.teams) > 0 {
		text += "\tteams: [" + refs(f.teams) + "]\n"
	}
	return text
}
