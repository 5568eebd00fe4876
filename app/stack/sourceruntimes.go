package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/sourceage"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// SourcesOf returns the bundle sources that a host or a project names.
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

// sourceRuntimes returns how schema.Load finds the runtimes that bundle sources
// bring as runtimes/*.toml. It reads sources that are on this machine, and fetches
// none. Runtimes of a project's source are part of the question whether the
// project is trusted.
func (m *Machine) sourceRuntimes() func(*spec.Host, *spec.Project) ([]spec.Runtime, bool, error) {
	sources := m.OwnSources()
	return func(h *spec.Host, project *spec.Project) (runtimes []spec.Runtime, more bool, err error) {
		for _, src := range SourcesOf(h, project) {
			tree, openErr := sources.Open(context.Background(), src)
			if openErr != nil {
				more = true // declaring its bundles reports why
				continue
			}
			found, readErr := tree.Runtimes()
			runtimes, err = append(runtimes, found...), errors.Join(err, readErr)
		}
		return runtimes, more, err
	}
}

// FolderSources returns the sources of v's project, for their age. It needs v.Declare.
func (v *View) FolderSources() sourceage.Folders {
	return sourceage.Folders{Lock: v.ProjectLock, Used: v.Declared.Sources, Project: v.Places.Project}
}

// OwnSources returns the sources that are on this machine.
func (m *Machine) OwnSources() *bundle.Sources {
	return &bundle.Sources{Home: m.Places.Physical(m.Places.Home), Resolve: func(_ context.Context, src spec.Source) (string, string, error) {
		return m.pinnedFolder(src)
	}}
}

// LockOf returns the path of the lock that pins src.
func (m *Machine) LockOf(src spec.Source) string {
	if m.Places.Project != "" && src.Dir == m.Places.Project {
		return filepath.Join(m.Places.Project, LockName)
	}
	return filepath.Join(m.Places.Config, LockName)
}

// pinnedFolder returns where a fetched source lies.
func (m *Machine) pinnedFolder(src spec.Source) (string, string, error) {
	f, err := pin.ReadFile(m.LockOf(src))
	if err != nil {
		return "", "", err
	}
	dir, at, err := sourceCache(m.Places).Source(f, src)
	return dir, at, pin.Advise(err)
}

// addSourceRuntimes adds to the catalog the runtimes of sources, which may have
// been fetched since the specs were loaded. It fails for a wanted runtime that is
// still unknown.
func (v *View) addSourceRuntimes(ctx context.Context, sources *bundle.Sources) error {
	var host *spec.Host
	var project *spec.Project
	var wanted []spec.Named
	if h := v.Spec.Host; h != nil && v.Has(reconcile.HostOwner) {
		host = h
		for _, u := range h.Runtimes {
			wanted = append(wanted, spec.Named{Value: u.ID, Pos: u.Pos})
		}
	}
	if p := v.Spec.Project; p != nil && v.Has(reconcile.ProjectOwner(v.Places.Project)) {
		project = p
		wanted = append(wanted, p.Runtimes...)
	}
	wanted = slices.DeleteFunc(wanted, func(n spec.Named) bool {
		_, ok := v.Catalog.Runtime(n.Value)
		return ok
	})
	var errs []error
	for _, src := range SourcesOf(host, project) {
		if src.Place != "" {
			continue // a nested spec names no runtimes
		}
		tree, err := sources.Open(ctx, src)
		if err != nil {
			continue // declaring its bundles reports why
		}
		found, err := tree.Runtimes()
		errs = append(errs, err)
		for _, r := range found {
			v.noteManifestConflict(r)
			if project != nil && slices.Contains(project.Sources, src) {
				r.User = spec.Scope{}
			}
			if _, ok := v.Catalog.Runtime(r.ID); !ok {
				v.Spec.Catalog.Runtimes = append(v.Spec.Catalog.Runtimes, r)
				v.Catalog = catalog.With(v.Spec.Catalog)
				v.chooseVariants()
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, n := range wanted {
		if _, ok := v.Catalog.Runtime(n.Value); !ok {
			errs = append(errs, fmt.Errorf("%s: %w", n.Pos, nearest.Unknown("runtime", n.Value, catalog.RuntimeIDs(v.Catalog.Runtimes()))))
		}
	}
	return errors.Join(errs...)
}

// noteManifestConflict adds a note where the manifest of r contradicts the catalog.
func (v *View) noteManifestConflict(r spec.Runtime) {
	known, ok := v.Catalog.Runtime(r.ID)
	if !ok || known.Source != "" || string(manifest.Of(known).Format()) == string(manifest.Of(r).Format()) {
		return
	}
	r.Pos.File = v.Places.Short(v.Cwd, r.Pos.File)
	origin := []reconcile.Position{reconcile.Position(r.Pos)}
	if !slices.ContainsFunc(v.Declared.Notes, func(n reconcile.Note) bool { return slices.Equal(n.Origin, origin) }) {
		text := fmt.Sprintf("what source %s says of runtime %s is not what the catalog says, whose entry is used; see aisync runtimes show %s --manifest", r.Source, r.ID, r.ID)
		v.Declared.Notes = append(v.Declared.Notes, reconcile.Note{Text: text, Origin: origin})
	}
}
