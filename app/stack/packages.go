package stack

import (
	"context"
	"errors"
	"fmt"
	"os"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// packageProvider returns the provider of packages for the user of p.
func packageProvider(p place.Places, offline bool) packages.Provider {
	return packages.New(packages.Options{Offline: offline, Cache: p.Cache, EUID: os.Geteuid(), UID: p.UID, GID: p.GID, Chown: p.Chown})
}

// packagesHost returns what the packages of the host depend on, as r pins them.
func (v *View) packagesHost(r *pin.Resolver) (packages.Host, error) {
	f, err := v.Facts()
	return packages.Host{
		Spec: v.Spec.Host, Runtimes: v.Catalog.Runtimes(), Facts: &f, Rooted: v.Places.Root != "", Outside: v.Runner().Has,
		Recorded: func(a reconcile.Address) bool { return len(v.Store.On(a)) > 0 },
		Installed: func(ctx context.Context, via, name string) string {
			return packageProvider(v.Places, true).Installed(ctx, v.ReadEnv(), via, name)
		},
		Pin: func(ctx context.Context, via, name, within string, pos spec.Position) (string, error, error) {
			version, left, err := r.Package(ctx, via, name, within, pos)
			return version, leftOutPackage(left), pin.Advise(err)
		},
		PinArchive: func(ctx context.Context, name, version string, a packages.Archive, pos spec.Position) (packages.Archive, error, error) {
			a, left, err := r.Archive(ctx, name, version, a, pos)
			return a, leftOutPackage(left), pin.Advise(err)
		},
		PinIntegrity: func(ctx context.Context, via, name, version string, pos spec.Position) (string, error, error) {
			integrity, left, err := r.Integrity(ctx, via, name, version, pos)
			return integrity, leftOutPackage(left), pin.Advise(err)
		},
		Node: func(ctx context.Context) packages.Node {
			if v.FactsFile != "" {
				return packages.Node{Version: f.Versions["node"], There: f.Programs["node"] != ""}
			}
			return packageProvider(v.Places, true).Node(ctx, v.ReadEnv())
		},
		Engines:        r.Engines,
		ServicePackage: func(s spec.Service, via string) (string, error) { return service.PackageOf(s, via, &f) },
	}, err
}

// chooseInstallers chooses the installers of the host that its spec leaves open.
func (v *View) chooseInstallers(ctx context.Context) error {
	if v.Spec.Host == nil || !v.Has(reconcile.HostOwner) || !packages.Open(v.Spec.Host) {
		return nil
	}
	h, err := v.packagesHost(v.Resolver(pin.Look))
	if err == nil {
		v.installers, v.noInstaller = h.Choose(ctx)
	}
	return err
}

// declarePackages declares the packages of the host.
func (v *View) declarePackages(ctx context.Context, r *pin.Resolver) (packages.Declared, error) {
	h, err := v.packagesHost(r)
	if err = errors.Join(err, v.noInstaller); err != nil {
		return packages.Declared{}, err
	}
	h.Why = v.installers
	var wrong error
	h.Programs, wrong = service.Programs(v.Spec.Host, h.Facts)
	d, err := h.Declare(ctx)
	if err == nil && v.Places.Root == "" && v.FactsFile == "" {
		d.Notes = append(d.Notes, d.OutsidePath(v.Places.Home, v.Env.Get("PATH"))...)
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
