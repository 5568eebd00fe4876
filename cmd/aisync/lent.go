package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Runtimes that bundle sources bring along, as runtimes/*.toml. They count
// where a spec names the source; what a project's source brings is part of the
// question whether the project is trusted.

// sourcesOf are the bundle sources that a host or a project names.
func sourcesOf(h *spec.Host, p *spec.Project) []spec.Source {
	var out []spec.Source
	if h != nil {
		for _, b := range h.Bundles {
			out = append(out, bundle.OfHost(b, h.Dir))
		}
	}
	if p != nil {
		out = append(out, p.Sources...)
	}
	return out
}

// lender returns what schema.Load asks for lent runtimes: it looks into
// sources that are on this machine, and fetches none.
func (a *app) lender(p places) func(*spec.Host, *spec.Project) ([]spec.Runtime, bool, error) {
	sources := a.ownSources(p)
	return func(h *spec.Host, project *spec.Project) (runtimes []spec.Runtime, more bool, err error) {
		for _, src := range sourcesOf(h, project) {
			tree, openErr := sources.Open(context.Background(), src)
			if openErr != nil {
				more = true // why it cannot be read is said where its bundles are
				continue
			}
			lent, readErr := tree.Runtimes()
			runtimes, err = append(runtimes, lent...), errors.Join(err, readErr)
		}
		return runtimes, more, err
	}
}

// ownSources are the sources that are on this machine.
func (a *app) ownSources(p places) *bundle.Sources {
	return &bundle.Sources{Home: p.physical(p.home), Resolve: func(_ context.Context, src spec.Source) (string, string, error) {
		return a.pinnedFolder(p, src)
	}}
}

// lockOf is the lock that pins a source.
func (a *app) lockOf(p places, src spec.Source) string {
	if p.project != "" && src.Dir == p.project {
		return filepath.Join(p.project, lockName)
	}
	return filepath.Join(p.config, lockName)
}

// pinnedFolder is where a source that had to be fetched lies.
func (a *app) pinnedFolder(p places, src spec.Source) (string, string, error) {
	f, err := pin.ReadFile(a.lockOf(p, src))
	if err != nil {
		return "", "", err
	}
	dir, at, err := p.sourceCache().Source(f, src)
	return dir, at, pinStep(err)
}

// lend looks again for runtimes that no catalog has, now that sources can be
// fetched, and says what is to be said of those that are there.
func (w *world) lend(ctx context.Context, sources *bundle.Sources) error {
	var host *spec.Host
	var project *spec.Project
	var wanted []spec.Named
	if h := w.spec.Host; h != nil && w.has(reconcile.HostOwner) {
		host = h
		for _, u := range h.Runtimes {
			wanted = append(wanted, spec.Named{Value: u.ID, Pos: u.Pos})
		}
	}
	if p := w.spec.Project; p != nil && w.has(reconcile.ProjectOwner(w.places.project)) {
		project = p
		wanted = append(wanted, p.Runtimes...)
	}
	wanted = slices.DeleteFunc(wanted, func(n spec.Named) bool {
		_, ok := w.catalog.Runtime(n.Value)
		return ok
	})
	var errs []error
	for _, src := range sourcesOf(host, project) {
		tree, err := sources.Open(ctx, src)
		if err != nil {
			continue // said where its bundles are
		}
		lent, err := tree.Runtimes()
		errs = append(errs, err)
		for _, r := range lent {
			w.noteLent(r)
			if project != nil && slices.Contains(project.Sources, src) {
				r.User = spec.Scope{}
			}
			if _, ok := w.catalog.Runtime(r.ID); !ok {
				w.spec.Catalog.Runtimes = append(w.spec.Catalog.Runtimes, r)
				w.catalog = catalog.With(w.spec.Catalog)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, n := range wanted {
		if _, ok := w.catalog.Runtime(n.Value); !ok {
			errs = append(errs, fmt.Errorf("%s: %w", n.Pos, unknown("runtime", n.Value, idsOf(w.catalog.Runtimes(), runtimeID))))
		}
	}
	return errors.Join(errs...)
}

// noteLent says where a manifest contradicts what is known better.
func (w *world) noteLent(r spec.Runtime) {
	known, ok := w.catalog.Runtime(r.ID)
	if !ok || known.Source != "" || string(manifest.Of(known).Format()) == string(manifest.Of(r).Format()) {
		return
	}
	cwd, _ := w.app.cwd() // only to shorten the name
	r.Pos.File = w.places.short(cwd, r.Pos.File)
	origin := []reconcile.Position{reconcile.Position(r.Pos)}
	if !slices.ContainsFunc(w.declared.Notes, func(n reconcile.Note) bool { return slices.Equal(n.Origin, origin) }) {
		text := fmt.Sprintf("what source %s says of runtime %s is not what the catalog says, whose entry is used; see aisync runtimes show %s --manifest", r.Source, r.ID, r.ID)
		w.declared.Notes = append(w.declared.Notes, reconcile.Note{Text: text, Origin: origin})
	}
}
