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

// KnownRuntimes is what is known of agent programs, for commands that agents run
// many times a minute: the catalog, and what the specs add to it. Specs are
// evaluated once: what they add is kept in the cache.
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

// specsIn are where this machine and project describe runtimes.
func (a *App) specsIn(p place.Places) quick.Specs {
	s := quick.Specs{Config: p.Config, Project: p.Project, Cache: p.Physical(p.Cache), Version: VersionText()}
	if a.Flags.Host != "" || a.Flags.Facts != "" {
		s.For = a.Flags.Host + " " + place.Absolute(WorkingFolder(), a.Flags.Facts) + " " + quick.DigestOf(a.Flags.Facts)
	}
	return s
}

// Remember keeps what the specs add to the catalog, which were just evaluated.
func (a *App) Remember(p place.Places, s *spec.Spec) {
	if file := a.specsIn(p).File(); file != "" {
		a.keep(file, p, s)
	}
}

// PlacesFor is places, for the project in root, whether that has a spec or not.
func (a *App) PlacesFor(root string) (place.Places, error) {
	given := a.Flags.Project
	a.Flags.Project = ""
	p, err := a.HostPlaces()
	a.Flags.Project, p.Project = given, quick.HasSpec(root)
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

// keep writes what the specs add. A cache that cannot be written is only slower.
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

// lookedAt are the files and folders that tell which runtimes the sources of a
// spec bring along, be they there or not.
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
			manifests, _ := os.ReadDir(folder) // without them the folder itself tells
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

// evaluateOwn is the spec for what it adds; a project's that is wrong is left
// out, and so is the host's. It is whole if neither is.
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
