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

// legacyRules is the folder into which older installers copied a bundle's rules.
const legacyRules = ".claude/rules"

// fromSource is a source of bundles in a new project spec, with the bundles to use.
type fromSource struct {
	name, url      string
	bundles, teams []string
}

// recognize returns the source at url with those of its bundles that an older
// installer has put into the project in dir.
func (s *initializer) recognize(ctx context.Context, dir, url string) (*fromSource, error) {
	here, err := s.Cwd()
	if err != nil {
		return nil, err
	}
	at, err := bundle.Address(url, here)
	if err != nil {
		return nil, fmt.Errorf("--source %s: %w", url, err)
	}
	out := &fromSource{name: editcmd.NameOfSource(at), url: url}
	folder := url
	if bundle.Remote(at) {
		got, cleanup, err := s.fetch(ctx, at)
		if err != nil {
			return nil, err
		}
		defer cleanup()
		folder = got
	} else if !strings.HasPrefix(url, "~/") {
		if folder, err = place.ExistingFolder(here, url); err != nil {
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
		s.notes = append(s.notes, "no bundle recognized here: using its generic rules; it also has "+strings.Join(append(tree.Languages(), tree.Teams()...), ", "))
	}
	return out, nil
}

// fileNames returns the names of the entries of dir, which may be missing.
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

// lines returns the fields of f in a project spec.
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
