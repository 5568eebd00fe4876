package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// KnownRuntimes returns the runtimes of the catalog and of the specs for the project
// in root. Agents call it many times a minute, so the specs are evaluated once and
// what they add is cached.
func (a *App) KnownRuntimes(root string) []spec.Runtime {
	p, err := a.PlacesFor(root)
	if err != nil {
		return catalog.Runtimes()
	}
	known, file, ok := a.specsIn(p).Recall()
	if ok {
		return known
	}
	s, whole := a.evaluateOwn(p)
	if whole {
		a.keep(file, p, s)
	}
	return catalog.With(spec.Catalog{Runtimes: s.Catalog.Runtimes}).Runtimes()
}

// specsIn returns the folders in which this machine and project describe runtimes.
func (a *App) specsIn(p place.Places) quick.Specs {
	s := quick.Specs{Config: p.Config, Project: p.Project, Cache: p.Physical(p.Cache), Version: VersionText()}
	if a.Flags.Host != "" || a.Flags.Facts != "" {
		s.For = a.Flags.Host + " " + place.Absolute(WorkingFolder(), a.Flags.Facts) + " " + quick.DigestOf(a.Flags.Facts)
	}
	return s
}

// Remember caches what s, which was just evaluated, adds to the catalog.
func (a *App) Remember(p place.Places, s *spec.Spec) {
	if file := a.specsIn(p).File(); file != "" {
		a.keep(file, p, s)
	}
}

// PlacesFor is HostPlaces for the project in root, which may have no spec.
func (a *App) PlacesFor(root string) (place.Places, error) {
	given := a.Flags.Project
	a.Flags.Project = ""
	p, err := a.HostPlaces()
	a.Flags.Project, p.Project, p.From = given, quick.HasSpec(root), ""
	if p.Project != "" {
		if dir, from, nested := place.Project(root, ""); nested == nil {
			p.Project, p.From = dir, from
		}
	}
	if err == nil && p.Project != "" {
		o, err := a.placeOptions()
		if err == nil {
			err = PlaceHint(p.CheckOwner(o))
		}
		if err != nil {
			p.Project = ""
			return p, err
		}
	}
	return p, err
}

// keep writes the cache file name. Failing to write it only costs time.
func (a *App) keep(name string, p place.Places, s *spec.Spec) {
	k := quick.Kept{Runtimes: s.Catalog.Runtimes, Looked: map[string]string{}}
	for _, file := range a.lookedAt(p, s) {
		k.Looked[file] = quick.DigestOf(file)
	}
	text, err := json.Marshal(k)
	if err != nil {
		return
	}
	if there, err := os.ReadFile(name); err == nil && string(there) == string(text) {
		return
	}
	if os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	_ = atomicfile.Write(name, text, atomicfile.Options{Survives: atomicfile.Content})
}

// lookedAt returns the files and folders that decide which runtimes the sources of s
// bring along, existing or not.
func (a *App) lookedAt(p place.Places, s *spec.Spec) []string {
	var out []string
	sources := a.Machine(p).OwnSources()
	for _, src := range stack.SourcesOf(s.Host, s.Project) {
		tree, err := sources.Open(context.Background(), src)
		var missing *bundle.MissingError
		switch {
		case err == nil:
			folder := filepath.Join(tree.Dir, "runtimes")
			out = append(out, folder)
			manifests, _ := os.ReadDir(folder) // unreadable: the folder's own digest decides
			for _, m := range manifests {
				out = append(out, filepath.Join(folder, m.Name()))
			}
		case errors.As(err, &missing):
			out = append(out, missing.Dir)
		}
		if bundle.Remote(src.URL) {
			out = append(out, a.Machine(p).LockOf(src), filepath.Join(p.Physical(p.Cache), "sources"))
		}
	}
	return out
}

// evaluateOwn evaluates the specs at p. It leaves out a project's spec that is wrong,
// then the host's; whole is false if it left out either.
func (a *App) evaluateOwn(p place.Places) (own *spec.Spec, whole bool) {
	for whole = true; ; whole = false {
		s, err := a.Machine(p).LoadSpec(context.Background(), schema.Options{NoHost: func(schema.Problem) {}})
		if err == nil {
			return s, whole
		}
		if p.Project == "" {
			return &spec.Spec{}, false
		}
		p.Project = ""
	}
}
