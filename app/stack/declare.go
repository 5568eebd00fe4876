package stack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/adapter/names"
	"aisync.dev/aisync/adapter/workspace"
	"aisync.dev/aisync/app/bundlepolicy"
	"aisync.dev/aisync/app/githooks"
	"aisync.dev/aisync/app/literals"
	"aisync.dev/aisync/app/nativeplugin"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/providers/dir"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/gitconfig"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Providers returns the providers of all kinds that this version knows.
func Providers(p place.Places, k ServiceManager, offline bool, seal file.Seal) []reconcile.Provider {
	return []reconcile.Provider{
		file.Provider{Seal: seal, Gone: nativeplugin.Forget(p.Project)},
		dir.Provider{Layouts: workspace.Layouts()},
		link.Provider{},
		gitconfig.Provider{},
		model.Provider{},
		store.Provider{},
		packageProvider(p, offline),
		k.provider(p),
	}
}

// Declare fills v.Declared with what the specs ask for, as r resolves it. A
// source that is not on this machine is an error unless r may fetch it. It needs
// v.Load, and may be called once.
func (v *View) Declare(ctx context.Context, r *pin.Resolver) error {
	sources := &bundle.Sources{Home: v.Places.Physical(v.Places.Home), Instead: v.Instead, Resolve: func(ctx context.Context, src spec.Source) (string, string, error) {
		dir, at, err := r.Source(ctx, src)
		return dir, at, pin.Advise(err)
	}}
	v.Bundles = sources
	if err := v.addSourceRuntimes(ctx, sources); err != nil {
		return err
	}
	r.Catalog = v.Catalog // with the runtimes that sources have
	var host, project adapter.Decls
	yields := yield.Spec{Runtimes: v.Catalog.Runtimes(), Sources: sources}
	g, ctx := errgroup.WithContext(ctx)
	if v.Has(reconcile.HostOwner) && v.Spec.Host != nil {
		yields.Host = v.Spec.Host
		g.Go(catchPanics(func() (err error) {
			host, err = v.declareHost(ctx, sources, r)
			return err
		}))
	}
	var projectErr error
	if v.Places.Project != "" && v.Has(reconcile.ProjectOwner(v.Places.Project)) && v.Spec.Project != nil {
		yields.Project = v.Spec.Project
		g.Go(catchPanics(func() error {
			project, projectErr = v.declareProject(ctx, sources)
			return nil
		}))
	}
	if err := errors.Join(g.Wait(), projectErr); err != nil {
		return err
	}
	if err := errors.Join(yield.Check(ctx, yields), bundlepolicy.Check(ctx, v.Spec.Limits, yields),
		bundlepolicy.Settings(v.Spec.Limits, yields.Host, yields.Project, v.Catalog.Runtimes())); err != nil {
		return err
	}
	v.Declared.Add(host)
	v.Declared.Add(project)
	v.refuseMoved()
	v.noteExtended()
	v.Declared.Notes = append(v.Declared.Notes, literals.Notes(v.Spec, v.Has(reconcile.HostOwner), v.Has(reconcile.ProjectOwner(v.Places.Project)))...)
	if len(host.Declarations) > 0 && len(project.Declarations) > 0 {
		v.Declared.Notes = append(v.Declared.Notes, adapter.Overlaps(host, project)...)
		v.Declared.Notes = append(v.Declared.Notes, nativeplugin.Shadowed(v.Native[0], v.Native[1])...)
	}
	if v.Has(reconcile.HostOwner) && v.Spec.Host != nil && v.Spec.Host.Builtin {
		if err := v.noteBuiltinHost(); err != nil {
			return err
		}
	}
	return v.takeResults(r)
}

// Has reports whether o takes part in what v looks at.
func (v *View) Has(o reconcile.Owner) bool { return slices.Contains(v.Owners, o) }

func (v *View) declareHost(ctx context.Context, sources *bundle.Sources, r *pin.Resolver) (adapter.Decls, error) {
	f, err := v.Facts()
	if err != nil {
		return adapter.Decls{}, err
	}
	r.Prefetch(ctx, v.Spec.Host.Models)
	installs, wrong := v.declarePackages(ctx, r)
	h := adapter.Host{
		Spec: nativeplugin.OthersOfHost(v.Spec.Host), Runtimes: v.Catalog.Runtimes(), Models: v.Catalog.Models(),
		Sources: sources, Facts: &f, Home: v.Places.Home, State: v.Places.State, Programs: v.Programs(), Secrets: v.secrets(), Pick: func(use spec.ModelUse, m spec.Model) (spec.Quant, string, error) { return v.pickModel(ctx, r, use, m) },
		Absent: v.serviceHost(r, adapter.Decls{}, &f, installs.Unsupported).Absent, Made: v.madeForHost, Recorded: v.wantedByHost,
	}
	d, err := h.Declare(ctx)
	whole, plugins, bad := nativeplugin.Host(ctx, v.Spec.Host, sources, h.There)
	v.Native[0], err = plugins, errors.Join(err, bad)
	d.Add(whole)
	d.Notes = append(d.Notes, names.Use(d.Declarations, v.Catalog.Runtimes(), func(rt spec.Runtime) spec.Scope { return rt.User }, func(name string) bool {
		return exists(v.Places.Expand(name))
	})...)
	d.Add(adapter.Decls{Declarations: installs.Declarations, Unsupported: installs.Unsupported, Notes: installs.Notes})
	if err := errors.Join(err, wrong); err != nil {
		return d, err
	}
	services, err := v.declareServices(r, d, installs.Unsupported)
	d.Add(adapter.Decls{Declarations: services.Declarations, Unsupported: services.Unsupported, Notes: services.Notes})
	return d, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// withoutDocuments removes from ours the documents below .ai/ that a bundle
// declares: the bundle's text is used instead.
func withoutDocuments(ours, bundles []reconcile.Declaration) []reconcile.Declaration {
	has := map[reconcile.Address]bool{}
	for _, d := range bundles {
		has[d.Target] = strings.HasPrefix(d.Target.Name(), ".ai/")
	}
	return slices.DeleteFunc(ours, func(d reconcile.Declaration) bool { return has[d.Target] })
}

// Programs returns the folders in which other programs keep models. The
// environment counts only for the machine and the user that aisync runs as.
func (v *View) Programs() store.Programs {
	getenv := v.Env.Get
	if v.Places.Root != "" || v.User != "" {
		getenv = func(string) string { return "" }
	}
	return store.ProgramPlaces(getenv, v.Places.Home)
}

func (v *View) declareProject(ctx context.Context, sources *bundle.Sources) (adapter.Decls, error) {
	p := adapter.Project{Spec: nativeplugin.OthersOfProject(v.Spec.Project, v.Catalog.Runtimes()), Runtimes: v.Catalog.Runtimes(), Sources: sources, Git: gitrepo.IsTop(v.Places.Project)}
	var err error
	if p.Notes, err = adapter.ReadNotes(v.Places.Project, p.Runtimes, p.Spec.Folders()...); err != nil {
		return adapter.Decls{}, err
	}
	p.Carried, p.Made = v.carried(ctx), v.made
	p.NoLinks = p.Git && gitrepo.NoLinks(v.Places.Project)
	if p.Git && !p.Spec.NoGitHooks {
		p.Hooks = func() adapter.Hooks {
			found := githooks.Active(ctx, v.Env, v.Places.Project)
			v.hooksShared = found.Shared
			return found
		}
	}
	if h := v.Spec.Host; h != nil {
		for _, b := range h.Bundles {
			p.Lent = append(p.Lent, bundle.OfHost(b, h.Dir))
		}
	}
	d, err := p.Declare(ctx)
	whole, plugins, bad := nativeplugin.Project(ctx, v.Spec.Project, v.Catalog.Runtimes(), sources)
	v.Native[1], err = plugins, errors.Join(err, bad)
	d.Add(whole)
	err = errors.Join(err, v.checkOwnLayer(p.Spec, d, p.Carried))
	d.Notes = append(d.Notes, names.Use(d.Declarations, p.Runtimes, func(rt spec.Runtime) spec.Scope { return rt.Project }, func(name string) bool {
		return exists(filepath.Join(v.Places.Project, name)) && !v.isOwn(d, name)
	})...)
	d.Declarations = append(d.Declarations, withoutDocuments(workspace.Declare(v.Spec.Project), d.Declarations)...)
	if v.Spec.Host != nil {
		d.Add(adapter.Trust(v.Spec.Host, v.Spec.Project, v.Catalog.Runtimes()))
	}
	return d, err
}
