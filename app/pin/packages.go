package pin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/fetch/unpinned"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Package returns the version that a package is pinned to: its newest, or the
// newest that begins with within. An unpinned package is pinned to the
// installed version, otherwise to the newest. version is "" if it must not be
// pinned; left says why it cannot be pinned now, and is in Result too.
func (r *Resolver) Package(ctx context.Context, via, name, within string, pos spec.Position) (version string, left, err error) {
	id := via + "/" + name
	if pin, ok := r.get(r.Host, "package", id, ""); ok && pin.Values["within"] == within {
		return pin.Values["version"], nil, nil
	}
	switch {
	case r.Locked:
		return "", nil, notPinned("package "+id, spec.Position{})
	case !r.Mode.pins(), !r.about(packages.Address(via, name)):
		return "", nil, nil
	}
	engines := ""
	if !r.isMoving("package", id) {
		version = r.Packages.Installed(ctx, r.Env, via, name)
		engines = packages.Engines(r.Env, name, version)
		if within != "" && version != within && !strings.HasPrefix(version, within+".") {
			version = ""
		}
	}
	if version == "" && r.Network.Offline {
		offline := fmt.Errorf("%s is not pinned: %w", name, reconcile.ErrOffline)
		if r.Mode == Lock {
			return "", nil, offline
		}
		return "", r.leaveOut(packages.Address(via, name), pos, offline), nil
	}
	if version == "" {
		release, err := r.Packages.Latest(ctx, r.Env, via, name, within)
		switch {
		case err != nil && r.Mode == Lock:
			return "", nil, &Error{Reason: ManagerFailed, Err: err}
		case err != nil:
			return "", r.leaveOut(packages.Address(via, name), pos, err), nil
		}
		version, engines = release.Version, release.Node
	}
	values := map[string]string{"version": version}
	if via == "npm" && engines != "" {
		values["node"] = engines
	}
	if within != "" {
		values["within"] = within
	}
	r.put(r.Host, reconcile.Pin{Kind: "package", Name: id, Values: values})
	return version, nil, nil
}

// Engines returns the range of Node that one version of an npm package needs, as it
// is pinned or installed, and that version: the pinned one if version is "". The
// range is "" if it is not known.
func (r *Resolver) Engines(name, version string) (of, needs string) {
	pin, _ := r.get(r.Host, "package", "npm/"+name, "")
	if version == "" {
		version = pin.Values["version"]
	}
	if version != "" && version == pin.Values["version"] && pin.Values["node"] != "" {
		return version, pin.Values["node"]
	}
	return version, packages.Engines(r.Env, name, version)
}

// Integrity returns the digest to which one version of an npm package is pinned.
// An unpinned one is pinned to what the registry says. left is as in Package.
func (r *Resolver) Integrity(ctx context.Context, via, name, version string, pos spec.Position) (integrity string, left, err error) {
	id, address := via+"/"+name, packages.Address(via, name)
	pin, ok := r.get(r.Host, "package", id, "")
	same := pin.Values["version"] == version
	switch {
	case ok && same && pin.Values["integrity"] != "":
		return pin.Values["integrity"], nil, nil
	case r.Locked:
		return "", nil, notPinned(fmt.Sprintf("package %s, version %s,", id, version), spec.Position{})
	case !r.Mode.pins(), !r.about(address):
		return "", nil, nil
	}
	release, err := r.Packages.Release(ctx, r.Env, name, version)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, reconcile.ErrOffline)) && r.Mode == Lock:
		return "", nil, err
	case err != nil && r.Mode == Lock:
		return "", nil, &Error{Reason: ManagerFailed, Err: err}
	case err != nil:
		return "", r.leaveOut(address, pos, err), nil
	}
	values := map[string]string{"version": version, "integrity": release.Integrity}
	if within := pin.Values["within"]; same && within != "" { // it is a runtime's package, too
		values["within"] = within
	}
	if release.Node != "" {
		values["node"] = release.Node
	}
	r.put(r.Host, reconcile.Pin{Kind: "package", Name: id, Values: values})
	return release.Integrity, nil, nil
}

// Archive returns the archive of a release with its pin. If it is not pinned,
// Archive trusts the spec's sha256 and asks only for its size; without a sha256
// it fetches the archive into the cache and trusts what comes. left is as in
// Package.
func (r *Resolver) Archive(ctx context.Context, name, version string, a packages.Archive, pos spec.Position) (_ packages.Archive, left, err error) {
	id, address := "release/"+name, packages.Address("release", name)
	pin, ok := r.get(r.Host, "package", id, "")
	if ok && pin.Values["version"] == version && pin.Values["url"] == a.URL {
		if a.SHA256 != "" && a.SHA256 != pin.Values["sha256"] {
			return a, nil, otherDigest(name, a.SHA256, pin, name)
		}
		a.SHA256 = pin.Values["sha256"]
		if a.Size, err = strconv.ParseInt(pin.Values["size"], 10, 64); err != nil || len(a.SHA256) != 64 {
			return a, nil, damaged("package", id, name)
		}
		return a, nil, nil
	}
	offline := fmt.Errorf("%s %s is not pinned: %w", name, version, reconcile.ErrOffline)
	switch {
	case r.Locked:
		return a, nil, notPinned(fmt.Sprintf("package %s, version %s from %s,", id, version, a.URL), spec.Position{})
	case !r.Mode.pins(), !r.about(address):
		return a, nil, nil
	case r.Network.Offline && r.Mode == Lock:
		return a, nil, offline
	case r.Network.Offline:
		return a, r.leaveOut(address, pos, offline), nil
	}
	if a.SHA256 != "" {
		a.Size, err = unpinned.Size(ctx, r.Network.client().HTTP(), a.URL)
	} else {
		a, err = r.firstFetched(ctx, name, a)
	}
	switch {
	case err != nil && (r.Mode == Lock || ctx.Err() != nil):
		return a, nil, err
	case err != nil:
		return a, r.leaveOut(address, pos, err), nil
	}
	r.put(r.Host, reconcile.Pin{Kind: "package", Name: id, Values: map[string]string{
		"version": version, "url": a.URL, "sha256": a.SHA256, "size": strconv.FormatInt(a.Size, 10),
	}})
	return a, nil, nil
}

// firstFetched downloads an archive of unknown content into the cache.
func (r *Resolver) firstFetched(ctx context.Context, name string, a packages.Archive) (packages.Archive, error) {
	unknown := packages.ReleaseArchive(r.Cache.Dir, "first-"+name)
	if _, err := r.Disk.MkdirAll(unknown.Dir(), 0o700); err != nil {
		return a, err
	}
	r.notify(Event{Kind: FetchingArchive, Name: name, From: a.URL})
	size, digest, err := unpinned.Get(ctx, r.Network.client().HTTP(), a.URL, r.Disk, unknown, nil)
	if err != nil {
		return a, err
	}
	a.Size, a.SHA256 = size, digest
	err = r.Disk.Move(unknown, packages.ReleaseArchive(r.Cache.Dir, digest))
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = r.Disk.Lstat(unknown); err == nil {
			err = r.Disk.Discard(unknown, info) // it is there already
		}
	}
	return a, err
}

// isMoving reports whether Update moves what is pinned under a name.
func (r *Resolver) isMoving(kind, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.moves(kind, name)
}

// leaveOut records that a package is not available now, and returns why.
func (r *Resolver) leaveOut(a reconcile.Address, pos spec.Position, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, LeftOut{a, pos, err})
	return err
}
