package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/unpinned"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// archive returns the archive of a release as it is pinned. Of one that is not,
// the spec's sha256 is taken at its word, and only its size is asked for;
// without one it is fetched, and what came is trusted from then on.
func (p *pinner) archive(ctx context.Context, name, version string, a packages.Archive, pos spec.Position) (_ packages.Archive, left, err error) {
	l, id, address := p.lockOf(false), "release/"+name, packages.Address("release", name)
	pin, ok := p.get(l, "package", id, "")
	if ok && pin.Values["version"] == version && pin.Values["url"] == a.URL {
		if a.SHA256 != "" && a.SHA256 != pin.Values["sha256"] {
			return a, nil, advice.Command(fmt.Errorf("%s: the spec says sha256 %s, and %s pins %s", name, a.SHA256, lockName, pin.Values["sha256"]), "aisync lock --update "+name)
		}
		a.SHA256 = pin.Values["sha256"]
		if a.Size, err = strconv.ParseInt(pin.Values["size"], 10, 64); err != nil || len(a.SHA256) != 64 {
			return a, nil, advice.Command(fmt.Errorf("%s: the pin of package %s is damaged", lockName, id), "aisync lock --update "+name)
		}
		return a, nil, nil
	}
	offline := fmt.Errorf("%s %s is not pinned, and pinning it %w", name, version, reconcile.ErrOffline)
	switch {
	case p.w.Locked:
		return a, nil, p.unpinned(fmt.Sprintf("package %s, version %s from %s,", id, version, a.URL), spec.Position{})
	case p.s == nil, !p.about(address):
		return a, nil, nil
	case !p.resolve && p.strict:
		return a, nil, offline
	case !p.resolve:
		return a, p.leaveOut(address, pos, offline), nil
	}
	if a.SHA256 != "" {
		a.Size, err = unpinned.Size(ctx, p.w.client().HTTP(), a.URL)
	} else {
		a, err = p.firstFetched(ctx, name, a)
	}
	switch {
	case err != nil && (p.strict || ctx.Err() != nil):
		return a, nil, err
	case err != nil:
		return a, p.leaveOut(address, pos, err), nil
	}
	p.set(l, reconcile.Pin{Kind: "package", Name: id, Values: map[string]string{
		"version": version, "url": a.URL, "sha256": a.SHA256, "size": strconv.FormatInt(a.Size, 10),
	}})
	return a, nil, nil
}

// firstFetched brings an archive of which nothing is known into the cache.
func (p *pinner) firstFetched(ctx context.Context, name string, a packages.Archive) (packages.Archive, error) {
	disk, unknown := p.s.FS, packages.ReleaseArchive(p.w.Places.Cache, "first-"+name)
	if _, err := disk.MkdirAll(unknown.Dir(), 0o700); err != nil {
		return a, err
	}
	p.w.Notify("fetching %s from %s: its sha256 is in no spec, so what comes is trusted and pinned", safe(name), safe(a.URL))
	size, digest, err := unpinned.Get(ctx, p.w.client().HTTP(), a.URL, disk, unknown, nil)
	if err != nil {
		return a, err
	}
	a.Size, a.SHA256 = size, digest
	err = disk.Move(unknown, packages.ReleaseArchive(p.w.Places.Cache, digest))
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = disk.Lstat(unknown); err == nil {
			err = disk.Discard(unknown, info) // it is there already
		}
	}
	return a, err
}
