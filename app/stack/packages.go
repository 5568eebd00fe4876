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

// packageProvider returns the provider of packages for the user of p.
func packageProvider(p place.Places, offline bool) packages.Provider {
	return packages.New(packages.Options{Offline: offline, Cache: p.Cache, EUID: os.Geteuid(), UID: p.UID, GID: p.GID, Chown: p.Chown})
}

// declarePackages declares the packages of the host.
func (v *View) declarePackages(ctx context.Context, r *pin.Resolver) (packages.Declared, error) {
	f, err := v.Facts()
	if err != nil {
		return packages.Declared{}, err
	}
	servers, wrong := v.servicePrograms()
	d, err := packages.Host{
		Spec: v.Spec.Host, Runtimes: v.Catalog.Runtimes(), Programs: servers, Facts: &f, Rooted: v.Places.Root != "",
		Recorded: func(a reconcile.Address) bool { return len(v.Store.On(a)) > 0 },
		Installed: func(ctx context.Context, via, name string) string {
			return packageProvider(v.Places, true).Installed(ctx, v.ReadEnv(), via, name)
		},
		Pin: func(ctx context.Context, via, name, within string, pos spec.Position) (string, error, error) {
			version, left, err := r.Package(ctx, via, name, within, pos)
			return version, leftOutPackage(left), AdvisePin(err)
		},
		PinArchive: func(ctx context.Context, name, version string, a packages.Archive, pos spec.Position) (packages.Archive, error, error) {
			a, left, err := r.Archive(ctx, name, version, a, pos)
			return a, leftOutPackage(left), AdvisePin(err)
		},
		PinIntegrity: func(ctx context.Context, via, name, version string, pos spec.Position) (string, error, error) {
			integrity, left, err := r.Integrity(ctx, via, name, version, pos)
			return integrity, leftOutPackage(left), AdvisePin(err)
		},
	}.Declare(ctx)
	if err == nil && v.Places.Root == "" && v.FactsFile == "" {
		d.Notes = append(d.Notes, v.linksNotInPath(d)...)
	}
	return d, errors.Join(err, wrong)
}

// NPMRelease asks npm's registry about one version of a package.
func (m *Machine) NPMRelease(ctx context.Context, name, version string) (packages.Release, error) {
	reader, err := m.Places.Reader("none")
	if err != nil {
		return packages.Release{}, err
	}
	return packageProvider(m.Places, m.Offline).Release(ctx, reconcile.ReadEnv{FS: reader, Home: m.Places.Home, Run: m.Runner()}, name, version)
}

// leftOutPackage adds to why a package cannot be had now what to do about it.
func leftOutPackage(left error) error {
	if left == nil {
		return nil
	}
	return fmt.Errorf("%w%s", left, pin.LeftOut{Address: "package:"}.Next())
}

// linksNotInPath warns where PATH lacks the folder of the links to programs.
func (v *View) linksNotInPath(d packages.Declared) []reconcile.Note {
	dir := v.Places.Home.Join(".local/bin")
	linked := slices.IndexFunc(d.Declarations, func(x reconcile.Declaration) bool {
		return x.Target.Kind() == "link" && x.Target.Path(v.Places.Home).Dir() == dir
	})
	if linked < 0 || slices.Contains(strings.Split(v.Env.Get("PATH"), ":"), string(dir)) {
		return nil
	}
	return []reconcile.Note{{
		Warning: true, Origin: d.Declarations[linked].Leaves[0].Origin,
		Text: fmt.Sprintf("%s is not in PATH, and programs are installed there: add it to PATH", dir),
	}}
}
