package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// installer is the provider of packages, for whom this command works.
func installer(p places, offline bool) packages.Provider {
	return packages.New(packages.Options{Offline: offline, Cache: p.cache, EUID: os.Geteuid(), UID: p.uid, GID: p.gid, Chown: p.chown})
}

// declarePackages asks for the packages of the host.
func (w *world) declarePackages(ctx context.Context, r *pin.Resolver) (packages.Declared, error) {
	f, err := w.facts()
	if err != nil {
		return packages.Declared{}, err
	}
	servers, wrong := w.servicePrograms()
	d, err := packages.Host{
		Spec: w.spec.Host, Runtimes: w.catalog.Runtimes(), Programs: servers, Facts: &f, Rooted: w.places.root != "",
		Recorded: func(a reconcile.Address) bool { return len(w.store.On(a)) > 0 },
		Installed: func(ctx context.Context, via, name string) string {
			return installer(w.places, true).Installed(ctx, w.read(), via, name)
		},
		Pin: func(ctx context.Context, via, name, within string, pos spec.Position) (string, error, error) {
			version, left, err := r.Package(ctx, via, name, within, pos)
			return version, leftPackage(left), pinStep(err)
		},
		PinArchive: func(ctx context.Context, name, version string, a packages.Archive, pos spec.Position) (packages.Archive, error, error) {
			a, left, err := r.Archive(ctx, name, version, a, pos)
			return a, leftPackage(left), pinStep(err)
		},
	}.Declare(ctx)
	if err == nil && w.places.root == "" && w.app.g.facts == "" {
		d.Notes = append(d.Notes, w.unreachable(d)...)
	}
	return d, errors.Join(err, wrong)
}

// leftPackage adds to why a package cannot be had now what to do about it.
func leftPackage(left error) error {
	if left == nil {
		return nil
	}
	return fmt.Errorf("%w%s", left, nextOfPackage)
}

// unreachable warns where the folder of the links to programs is not in PATH.
func (w *world) unreachable(d packages.Declared) []reconcile.Note {
	dir := w.places.home.Join(".local/bin")
	linked := slices.IndexFunc(d.Declarations, func(x reconcile.Declaration) bool {
		return x.Target.Kind() == "link" && x.Target.Path(w.places.home).Dir() == dir
	})
	if linked < 0 || slices.Contains(strings.Split(w.app.env.get("PATH"), ":"), string(dir)) {
		return nil
	}
	return []reconcile.Note{{
		Warning: true, Origin: d.Declarations[linked].Leaves[0].Origin,
		Text: fmt.Sprintf("%s is not in PATH, and programs are installed there: add it to PATH", dir),
	}}
}
