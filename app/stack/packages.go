package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// installer is the provider of packages, for whom this command works.
func installer(p place.Places, offline bool) packages.Provider {
	return packages.New(packages.Options{Offline: offline, Cache: p.Cache, EUID: os.Geteuid(), UID: p.UID, GID: p.GID, Chown: p.Chown})
}

// declarePackages asks for the packages of the host.
func (w *View) declarePackages(ctx context.Context, r *pin.Resolver) (packages.Declared, error) {
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
		Pin: func(ctx context.Context, via, name, within string, pos spec.Position) (string, error, error) {
			version, left, err := r.Package(ctx, via, name, within, pos)
			return version, leftPackage(left), PinStep(err)
		},
		PinArchive: func(ctx context.Context, name, version string, a packages.Archive, pos spec.Position) (packages.Archive, error, error) {
			a, left, err := r.Archive(ctx, name, version, a, pos)
			return a, leftPackage(left), PinStep(err)
		},
	}.Declare(ctx)
	if err == nil && w.Places.Root == "" && w.FactsFile == "" {
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
