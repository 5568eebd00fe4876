// Package stack is one machine and one project, loaded: their specs, locks,
// records and services. It prints nothing. Open, Look and LookAtRecords give a
// View, which cannot write; Hold and its like give a Session, which holds the lock.
package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/adapter/workspace"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/providers/dir"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/gitconfig"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Providers are all kinds that this version knows.
func Providers(p place.Places, k ServiceManager, offline bool, seal file.Seal) []reconcile.Provider {
	return []reconcile.Provider{
		file.Provider{Seal: seal},
		dir.Provider{Layouts: workspace.Layouts()},
		link.Provider{},
		gitconfig.Provider{},
		model.Provider{},
		store.Provider{},
		installer(p, offline),
		k.provider(p),
	}
}

// Declare asks every part of the specs what it wants, as r resolves it. What is
// not at hand is an error where r may not fetch it.
func (w *View) Declare(ctx context.Context, r *pin.Resolver) error {
	sources := &bundle.Sources{Home: w.Places.Physical(w.Places.Home), Resolve: func(ctx context.Context, src spec.Source) (string, string, error) {
		dir, at, err := r.Source(ctx, src)
		return dir, at, PinStep(err)
	}}
	w.Bundles = sources
	if err := w.lend(ctx, sources); err != nil {
		return err
	}
	r.Catalog = w.Catalog // with the runtimes that sources have
	var host, project adapter.Decls
	g, ctx := errgroup.WithContext(ctx)
	if w.Has(reconcile.HostOwner) && w.Spec.Host != nil {
		g.Go(guarded(func() (err error) {
			host, err = w.declareHost(ctx, sources, r)
			return err
		}))
	}
	var projectErr error
	if w.Places.Project != "" && w.Has(reconcile.ProjectOwner(w.Places.Project)) && w.Spec.Project != nil {
		g.Go(guarded(func() error {
			project, projectErr = w.declareProject(ctx, sources)
			return nil
		}))
	}
	if err := errors.Join(g.Wait(), projectErr); err != nil {
		return err
	}
	w.Declared.Add(host)
	w.Declared.Add(project)
	if len(host.Declarations) > 0 && len(project.Declarations) > 0 {
		w.Declared.Notes = append(w.Declared.Notes, adapter.Overlaps(host, project)...)
	}
	if w.Has(reconcile.HostOwner) && w.Spec.Host != nil && w.Spec.Host.Builtin {
		if err := w.welcome(); err != nil {
			return err
		}
	}
	return w.settle(r)
}

// welcome says which host applies where nobody wrote a spec, and what would be
// a first model for this machine.
func (w *View) welcome() error {
	f, err := w.Facts()
	if err != nil {
		return err
	}
	var found []string
	for _, r := range w.Catalog.Runtimes() {
		if f.Programs[r.Command] != "" {
			found = append(found, r.ID)
		}
	}
	slices.Sort(found)
	programs := "none of the agent programs that it knows is installed"
	if len(found) > 0 {
		programs = "for what is installed: " + strings.Join(found, ", ")
	}
	note := func(text string) {
		w.Declared.Notes = append(w.Declared.Notes, reconcile.Note{Text: text})
	}
	note(fmt.Sprintf("no host is described in %s: the built-in host %q applies (%s); aisync init describes this machine", w.configName(), w.Spec.Host.Name, programs))
	if m, choice, ok := hosts.Recommend(w.Catalog.Models(), f); ok {
		note(fmt.Sprintf("a first model for this machine: %s at %s (%s); name it under models of a host to have it fetched", m.ID, choice.Quant, choice.Reason))
	}
	return nil
}

// configName is the folder of the host specs as a person would type it.
func (w *View) configName() string {
	if w.Places.Configured {
		return w.Places.Config
	}
	if rest, ok := strings.CutPrefix(string(w.Places.ConfigHome), string(w.Places.Home)+"/"); ok {
		return "~/" + rest
	}
	return string(w.Places.ConfigHome)
}

func (w *View) Has(o reconcile.Owner) bool { return slices.Contains(w.Owners, o) }

func (w *View) declareHost(ctx context.Context, sources *bundle.Sources, r *pin.Resolver) (adapter.Decls, error) {
	f, err := w.Facts()
	if err != nil {
		return adapter.Decls{}, err
	}
	r.Prefetch(ctx, w.Spec.Host.Models)
	installs, wrong := w.declarePackages(ctx, r)
	d, err := adapter.Host{
		Spec: w.Spec.Host, Runtimes: w.Catalog.Runtimes(), Models: w.Catalog.Models(),
		Sources: sources, Facts: &f, Home: w.Places.Home, Programs: w.Programs(), Secrets: w.secrets(), Pick: func(use spec.ModelUse, m spec.Model) (spec.Quant, string, error) { return w.pickModel(ctx, r, use, m) },
		Absent: w.serviceHost(r, adapter.Decls{}, &f, installs.Unsupported).Absent, Recorded: w.recorded,
	}.Declare(ctx)
	d.Add(adapter.Decls{Declarations: installs.Declarations, Unsupported: installs.Unsupported, Notes: installs.Notes})
	if err := errors.Join(err, wrong); err != nil {
		return d, err
	}
	services, err := w.declareServices(r, d, installs.Unsupported)
	d.Add(adapter.Decls{Declarations: services.Declarations, Unsupported: services.Unsupported, Notes: services.Notes})
	return d, err
}

// withoutDocuments leaves out of ours, which agents work by, the documents that
// a bundle brings: people who wrote their own have them.
func withoutDocuments(ours, bundles []reconcile.Declaration) []reconcile.Declaration {
	has := map[reconcile.Address]bool{}
	for _, d := range bundles {
		has[d.Target] = strings.HasPrefix(d.Target.Name(), ".ai/")
	}
	return slices.DeleteFunc(ours, func(d reconcile.Declaration) bool { return has[d.Target] })
}

// Programs are the folders in which other programs keep models. With --root or
// --user the environment speaks of somebody else's.
func (w *View) Programs() store.Programs {
	getenv := w.Env.Get
	if w.Places.Root != "" || w.User != "" {
		getenv = func(string) string { return "" }
	}
	return store.ProgramPlaces(getenv, w.Places.Home)
}

func (w *View) declareProject(ctx context.Context, sources *bundle.Sources) (adapter.Decls, error) {
	p := adapter.Project{Spec: w.Spec.Project, Runtimes: w.Catalog.Runtimes(), Sources: sources, Git: adapter.IsGit(w.Places.Project)}
	if p.Git && !p.Spec.NoGitHooks {
		p.Hooks = func() adapter.Hooks {
			found := activeHooks(ctx, w.Env, w.Places.Project)
			w.hooksShared = found.Shared
			return found
		}
	}
	if h := w.Spec.Host; h != nil {
		for _, b := range h.Bundles {
			p.Lent = append(p.Lent, bundle.OfHost(b, h.Dir))
		}
	}
	d, err := p.Declare(ctx)
	d.Declarations = append(d.Declarations, withoutDocuments(workspace.Declare(w.Spec.Project), d.Declarations)...)
	if w.Spec.Host != nil {
		d.Add(adapter.Trust(w.Spec.Host, w.Spec.Project, w.Catalog.Runtimes()))
	}
	return d, err
}
