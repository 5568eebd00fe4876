package stack

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
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Runtimes that bundle sources bring along, as runtimes/*.toml. They count
// where a spec names the source; what a project's source brings is part of the
// question whether the project is trusted.

// SourcesOf are the bundle sources that a host or a project names.
func SourcesOf(h *spec.Host, p *spec.Project) []spec.Source {
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
func (m *Machine) lender() func(*spec.Host, *spec.Project) ([]spec.Runtime, bool, error) {
	sources := m.OwnSources()
	return func(h *spec.Host, project *spec.Project) (runtimes []spec.Runtime, more bool, err error) {
		for _, src := range SourcesOf(h, project) {
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

// OwnSources are the sources that are on this machine.
func (m *Machine) OwnSources() *bundle.Sources {
	return &bundle.Sources{Home: m.Places.Physical(m.Places.Home), Resolve: func(_ context.Context, src spec.Source) (string, string, error) {
		return m.pinnedFolder(src)
	}}
}

// LockOf is the lock that pins a source.
func (m *Machine) LockOf(src spec.Source) string {
	if m.Places.Project != "" && src.Dir == m.Places.Project {
		return filepath.Join(m.Places.Project, LockName)
	}
	return filepath.Join(m.Places.Config, LockName)
}

// pinnedFolder is where a source that had to be fetched lies.
func (m *Machine) pinnedFolder(src spec.Source) (string, string, error) {
	f, err := pin.ReadFile(m.LockOf(src))
	if err != nil {
		return "", "", err
	}
	dir, at, err := sourceCache(m.Places).Source(f, src)
	return dir, at, PinStep(err)
}

// lend looks again for runtimes that no catalog has, now that sources can be
// fetched, and says what is to be said of those that are there.
func (w *View) lend(ctx context.Context, sources *bundle.Sources) error {
	var host *spec.Host
	var project *spec.Project
	var wanted []spec.Named
	if h := w.Spec.Host; h != nil && w.Has(reconcile.HostOwner) {
		host = h
		for _, u := range h.Runtimes {
			wanted = append(wanted, spec.Named{Value: u.ID, Pos: u.Pos})
		}
	}
	if p := w.Spec.Project; p != nil && w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		project = p
		wanted = append(wanted, p.Runtimes...)
	}
	wanted = slices.DeleteFunc(wanted, func(n spec.Named) bool {
		_, ok := w.Catalog.Runtime(n.Value)
		return ok
	})
	var errs []error
	for _, src := range SourcesOf(host, project) {
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
			if _, ok := w.Catalog.Runtime(r.ID); !ok {
				w.Spec.Catalog.Runtimes = append(w.Spec.Catalog.Runtimes, r)
				w.Catalog = catalog.With(w.Spec.Catalog)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, n := range wanted {
		if _, ok := w.Catalog.Runtime(n.Value); !ok {
			errs = append(errs, fmt.Errorf("%s: %w", n.Pos, nearest.Unknown("runtime", n.Value, catalog.RuntimeIDs(w.Catalog.Runtimes()))))
		}
	}
	return errors.Join(errs...)
}

// noteLent says where a manifest contradicts what is known better.
func (w *View) noteLent(r spec.Runtime) {
	known, ok := w.Catalog.Runtime(r.ID)
	if !ok || known.Source != "" || string(manifest.Of(known).Format()) == string(manifest.Of(r).Format()) {
		return
	}
	r.Pos.File = w.Places.Short(w.Cwd, r.Pos.File)
	origin := []reconcile.Position{reconcile.Position(r.Pos)}
	if !slices.ContainsFunc(w.Declared.Notes, func(n reconcile.Note) bool { return slices.Equal(n.Origin, origin) }) {
		text := fmt.Sprintf("what source %s says of runtime %s is not what the catalog says, whose entry is used; see aisync runtimes show %s --manifest", r.Source, r.ID, r.ID)
		w.Declared.Notes = append(w.Declared.Notes, reconcile.Note{Text: text, Origin: origin})
	}
}
