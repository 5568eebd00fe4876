package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// installer is the provider of packages, for whom this command works.
func installer(p place.Places, offline bool) packages.Provider {
	return packages.New(packages.Options{Offline: offline, Cache: p.Cache, EUID: os.Geteuid(), UID: p.UID, GID: p.GID, Chown: p.Chown})
}

// declarePackages asks for the packages of the host.
func (w *View) declarePackages(ctx context.Context, pin *pinner) (packages.Declared, error) {
	f, err := w.Facts()
	if err != nil {
		return packages.Declared{}, err
	}
	servers, wrong := w.servicePrograms()
	d, err := packages.Host{
		Spec: w.Spec.Host, Runtimes: w.Catalog.Runtimes(), Programs: servers, Facts: &f, Rooted: w.Places.Root != "",
		Recorded: func(a reconcile.Address) bool { return len(w.Store.On(a)) > 0 },
		Installed: func(ctx context.Context, via, name string) string {
			return installer(w.Places, true).Installed(ctx, w.ReadEnv(), via, name)
		},
		Pin: pin.packageVersion, PinArchive: pin.archive,
	}.Declare(ctx)
	if err == nil && w.Places.Root == "" && w.FactsFile == "" {
		d.Notes = append(d.Notes, w.unreachable(d)...)
	}
	return d, errors.Join(err, wrong)
}

// unreachable warns where the folder of the links to programs is not in PATH.
func (w *View) unreachable(d packages.Declared) []reconcile.Note {
	dir := w.Places.Home.Join(".local/bin")
	linked := slices.IndexFunc(d.Declarations, func(x reconcile.Declaration) bool {
		return x.Target.Kind() == "link" && x.Target.Path(w.Places.Home).Dir() == dir
	})
	if linked < 0 || slices.Contains(strings.Split(w.Env.Get("PATH"), ":"), string(dir)) {
		return nil
	}
	return []reconcile.Note{{
		Warning: true, Origin: d.Declarations[linked].Leaves[0].Origin,
		Text: fmt.Sprintf("%s is not in PATH, and programs are installed there: add it to PATH", dir),
	}}
}

// packageVersion returns the version that a package is pinned to. What is not
// pinned is pinned to what is installed already, else to the newest.
func (p *pinner) packageVersion(ctx context.Context, via, name, within string, pos spec.Position) (version string, left, err error) {
	l, id := p.lockOf(false), via+"/"+name
	pin, ok := p.get(l, "package", id, "")
	if ok && pin.Values["within"] == within {
		return pin.Values["version"], nil, nil
	}
	offline := fmt.Errorf("%s is not pinned, and pinning it %w", name, reconcile.ErrOffline)
	switch {
	case p.w.Locked:
		return "", nil, p.unpinned("package "+id, spec.Position{})
	case p.s == nil, !p.about(packages.Address(via, name)):
		return "", nil, nil
	}
	provider, read := installer(p.w.Places, !p.resolve), p.w.ReadEnv()
	if moved := p.moving("package", id); !moved {
		version = provider.Installed(ctx, read, via, name)
		if within != "" && version != within && !strings.HasPrefix(version, within+".") {
			version = ""
		}
	}
	if version == "" && !p.resolve {
		if p.strict {
			return "", nil, offline
		}
		return "", p.leaveOut(packages.Address(via, name), pos, offline), nil
	}
	if version == "" {
		if version, err = provider.Latest(ctx, read, via, name, within); err != nil {
			if p.strict {
				return "", nil, advice.Command(err, "aisync lock again, when that is mended")
			}
			return "", p.leaveOut(packages.Address(via, name), pos, err), nil
		}
	}
	values := map[string]string{"version": version}
	if within != "" {
		values["within"] = within
	}
	p.set(l, reconcile.Pin{Kind: "package", Name: id, Values: values})
	return version, nil, nil
}

// leaveOut notes that a package cannot be had now, and returns why.
func (p *pinner) leaveOut(a reconcile.Address, pos spec.Position, err error) error {
	const next = "; name a version in the spec, or pin one with aisync lock when that is mended"
	p.mu.Lock()
	defer p.mu.Unlock()
	p.s.LeftOut = append(p.s.LeftOut, fmt.Errorf("%s: left out: %w%s%s", a, err, inBrackets(pos.String()), next))
	return fmt.Errorf("%w%s", err, next)
}

// isPackageOf reports whether the pin called id is of what a person calls name:
// a runtime, or the package itself.
func (w *View) isPackageOf(name, id string) bool {
	via, of, _ := strings.Cut(id, "/")
	rt, ok := w.Catalog.Runtime(name)
	return name == of || ok && rt.Packages[via] == of
}
