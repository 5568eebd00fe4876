package main

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

// providers are all kinds that this version knows.
func providers(p places, k keeper, offline bool, seal file.Seal) []reconcile.Provider {
	return []reconcile.Provider{file.Provider{Seal: seal}, dir.Provider{Layouts: workspace.Layouts()}, link.Provider{}, gitconfig.Provider{}, model.Provider{}, store.Provider{}, installer(p, offline), k.provider(p)}
}

// declare asks every part of the specs what it wants, as r resolves it. What is
// not at hand is an error where r may not fetch it.
func (w *world) declare(ctx context.Context, r *pin.Resolver) error {
	sources := &bundle.Sources{Home: w.places.physical(w.places.home), Resolve: func(ctx context.Context, src spec.Source) (string, string, error) {
		dir, at, err := r.Source(ctx, src)
		return dir, at, pinStep(err)
	}}
	w.bundles = sources
	if err := w.lend(ctx, sources); err != nil {
		return err
	}
	r.Catalog = w.catalog // with the runtimes that sources have
	var host, project adapter.Decls
	g, ctx := errgroup.WithContext(ctx)
	if w.has(reconcile.HostOwner) && w.spec.Host != nil {
		g.Go(guarded(func() (err error) {
			host, err = w.declareHost(ctx, sources, r)
			return err
		}))
	}
	var projectErr error
	if w.places.project != "" && w.has(reconcile.ProjectOwner(w.places.project)) && w.spec.Project != nil {
		g.Go(guarded(func() error {
			project, projectErr = w.declareProject(ctx, sources)
			return nil
		}))
	}
	if err := errors.Join(g.Wait(), projectErr); err != nil {
		return err
	}
	w.declared.Add(host)
	w.declared.Add(project)
	if len(host.Declarations) > 0 && len(project.Declarations) > 0 {
		w.declared.Notes = append(w.declared.Notes, adapter.Overlaps(host, project)...)
	}
	if w.has(reconcile.HostOwner) && w.spec.Host != nil && w.spec.Host.Builtin {
		if err := w.welcome(); err != nil {
			return err
		}
	}
	return w.settle(r)
}

// welcome says which host applies where nobody wrote a spec, and what would be
// a first model for this machine.
func (w *world) welcome() error {
	f, err := w.facts()
	if err != nil {
		return err
	}
	var found []string
	for _, r := range w.catalog.Runtimes() {
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
		w.declared.Notes = append(w.declared.Notes, reconcile.Note{Text: text})
	}
	note(fmt.Sprintf("no host is described in %s: the built-in host %q applies (%s); aisync init describes this machine", w.configName(), w.spec.Host.Name, programs))
	if m, choice, ok := hosts.Recommend(w.catalog.Models(), f); ok {
		note(fmt.Sprintf("a first model for this machine: %s at %s (%s); name it under models of a host to have it fetched", m.ID, choice.Quant, choice.Reason))
	}
	return nil
}

// configName is the folder of the host specs as a person would type it.
func (w *world) configName() string {
	if w.places.configured {
		return w.places.config
	}
	if rest, ok := strings.CutPrefix(string(w.places.configHome), string(w.places.home)+"/"); ok {
		return "~/" + rest
	}
	return string(w.places.configHome)
}

func (w *world) has(o reconcile.Owner) bool { return slices.Contains(w.owners, o) }

func (w *world) declareHost(ctx context.Context, sources *bundle.Sources, r *pin.Resolver) (adapter.Decls, error) {
	f, err := w.facts()
	if err != nil {
		return adapter.Decls{}, err
	}
	r.Prefetch(ctx, w.spec.Host.Models)
	installs, wrong := w.declarePackages(ctx, r)
	d, err := adapter.Host{
		Spec: w.spec.Host, Runtimes: w.catalog.Runtimes(), Models: w.catalog.Models(),
		Sources: sources, Facts: &f, Home: w.places.home, Programs: w.programs(), Secrets: w.secrets(), Pick: func(use spec.ModelUse, m spec.Model) (spec.Quant, string, error) { return w.pickModel(ctx, r, use, m) },
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

// programs are the folders in which other programs keep models. With --root or
// --user the environment speaks of somebody else's.
func (w *world) programs() store.Programs {
	getenv := w.app.env.get
	if w.places.root != "" || w.app.g.user != "" {
		getenv = func(string) string { return "" }
	}
	return store.ProgramPlaces(getenv, w.places.home)
}

func (w *world) declareProject(ctx context.Context, sources *bundle.Sources) (adapter.Decls, error) {
	p := adapter.Project{Spec: w.spec.Project, Runtimes: w.catalog.Runtimes(), Sources: sources, Git: adapter.IsGit(w.places.project)}
	if p.Git && !p.Spec.NoGitHooks {
		p.Hooks = func() adapter.Hooks {
			found := activeHooks(ctx, w.app.env, w.places.project)
			w.hooksShared = found.Shared
			return found
		}
	}
	if h := w.spec.Host; h != nil {
		for _, b := range h.Bundles {
			p.Lent = append(p.Lent, bundle.OfHost(b, h.Dir))
		}
	}
	d, err := p.Declare(ctx)
	d.Declarations = append(d.Declarations, withoutDocuments(workspace.Declare(w.spec.Project), d.Declarations)...)
	if w.spec.Host != nil {
		d.Add(adapter.Trust(w.spec.Host, w.spec.Project, w.catalog.Runtimes()))
	}
	return d, err
}
