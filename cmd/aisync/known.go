package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/quick"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// knownRuntimes is what is known of agent programs, for commands that agents run
// many times a minute: the catalog, and what the specs add to it. Specs are
// evaluated once: what they add is kept in the cache.
func (a *app) knownRuntimes(root string) []spec.Runtime {
	p, err := a.placesFor(root)
	if err != nil {
		return catalog.Runtimes()
	}
	known, file, ok := p.specs().Recall()
	if ok {
		return known
	}
	own := a.evaluateOwn(p)
	keep(file, own)
	return catalog.With(spec.Catalog{Runtimes: own}).Runtimes()
}

// specs are where this machine and project describe runtimes.
func (p places) specs() quick.Specs {
	return quick.Specs{Config: p.config, Project: p.project, Cache: p.physical(p.cache), Version: versionText()}
}

// remember keeps what the specs add to the catalog, which were just evaluated.
func (a *app) remember(p places, s *spec.Spec) {
	if file := p.specs().File(); file != "" {
		keep(file, s.Catalog.Runtimes)
	}
}

// placesFor is places, for the project in root, whether that has a spec or not.
func (a *app) placesFor(root string) (places, error) {
	given := a.g.project
	a.g.project = ""
	p, err := a.places()
	a.g.project, p.project = given, quick.HasSpec(root)
	return p, err
}

// keep writes what the specs add. A cache that cannot be written is only slower.
func keep(name string, own []spec.Runtime) {
	k := quick.Kept{Runtimes: own, Lent: map[string]string{}}
	for _, r := range own {
		if r.Source != "" && filepath.IsAbs(r.Pos.File) {
			k.Lent[r.Pos.File] = quick.DigestOf(r.Pos.File)
		}
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
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name()) // after the rename there is none
	_, err = f.Write(text)
	if closeErr := f.Close(); err == nil && closeErr == nil {
		_ = os.Rename(f.Name(), name)
	}
}

// evaluateOwn is what the specs add; a project's spec that is wrong is left out,
// and so is the host's.
func (a *app) evaluateOwn(p places) []spec.Runtime {
	for {
		s, err := a.loadSpecWith(context.Background(), p, schema.Options{Facts: a.factsOf(p), NoHost: func(schema.Problem) {}})
		if err == nil {
			return s.Catalog.Runtimes
		}
		if p.project == "" {
			return nil
		}
		p.project = ""
	}
}
