package model

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// turns has a mutex for each blob: models with the same bytes in one apply take
// turns to bring them into the store.
var turns sync.Map

// stock brings the bytes of a into the store, from this machine or from a
// source, and marks them as verified until they are recorded. No unverified
// byte appears in the store. from is the source that served, "" for none.
func stock(ctx context.Context, target reconcile.Address, n note, a Artifact, w reconcile.WriteEnv, out *reconcile.Outcome) (from string, err error) {
	at, err := w.FS.Physical(a.blob())
	if err != nil {
		return "", err
	}
	turn, _ := turns.LoadOrStore(at, new(sync.Mutex))
	turn.(*sync.Mutex).Lock()
	defer turn.(*sync.Mutex).Unlock()
	if err := haveBlob(ctx, n, a, w.FS); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		made, err := store.MakeDir(w.FS, a.Store, a.blob().Dir())
		out.Dirs = append(out.Dirs, made...)
		if err != nil {
			return "", err
		}
		taken, err := take(ctx, n, a, w.FS)
		if err == nil && !taken {
			from, err = bring(ctx, target, a, w, out)
		}
		if err != nil {
			return "", err
		}
	}
	if err := store.CheckGGUF(w.FS, a.blob(), a.Path.Base()); err != nil {
		return "", err
	}
	info, err := w.FS.Lstat(a.blob())
	if err != nil || n.Stat.Of(info) || store.Marked(w.FS, a.Store, a.SHA256, info) {
		return from, err
	}
	return from, store.Mark(w.FS, a.Store, a.SHA256, info)
}

// haveBlob returns nil if the blob of a is there and right, and an error that
// wraps fs.ErrNotExist if it must be fetched. Wrong bytes are renamed.
func haveBlob(ctx context.Context, n note, a Artifact, w fsys.FS) error {
	info, err := w.Lstat(a.blob())
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; move it away", a.blob())
	case strings.EqualFold(n.SHA256, a.SHA256) && n.Stat.Of(info), store.Marked(w, a.Store, a.SHA256, info):
		return nil
	case info.Size() == a.Size:
		sum, err := store.Hash(ctx, w, a.blob(), nil)
		if err != nil || strings.EqualFold(sum, a.SHA256) {
			return err
		}
	}
	if _, err := store.Aside(w, a.blob()); err != nil {
		return fmt.Errorf("the store holds wrong bytes: %w", err)
	}
	return fs.ErrNotExist
}

// take brings the bytes of a into the store from another place on this machine,
// without a copy where possible.
func take(ctx context.Context, n note, a Artifact, w fsys.FS) (bool, error) {
	places := a.elsewhere()
	if n.Path != "" {
		places = append([]fsys.LogicalPath{n.Path, n.blob()}, places...)
	}
	for _, p := range places {
		if p == "" {
			continue
		}
		info, err := w.Lstat(p)
		if err != nil || !info.Mode().IsRegular() || info.Size() != a.Size {
			continue
		}
		recorded := strings.EqualFold(n.SHA256, a.SHA256) && (n.Stat.Of(info) || n.Clone.Of(info))
		if !recorded {
			sum, err := store.Hash(ctx, w, p, nil)
			if ctx.Err() != nil {
				return false, err
			}
			if err != nil || !strings.EqualFold(sum, a.SHA256) {
				continue
			}
		}
		err = w.Link(p, a.blob())
		if errors.Is(err, fsys.ErrCannotShare) {
			err = w.Clone(p, a.blob(), store.BlobMode(w, a.Store))
		}
		if errors.Is(err, fsys.ErrCannotShare) && recorded {
			err = w.Move(p, a.blob()) // the spec's store is on another file system now
		}
		if errors.Is(err, fsys.ErrCannotShare) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return false, fmt.Errorf("adopt %s: %w", p, err)
		}
		return true, nil
	}
	return false, nil
}

// bring downloads a and publishes it in the store.
func bring(ctx context.Context, target reconcile.Address, a Artifact, w reconcile.WriteEnv, out *reconcile.Outcome) (from string, err error) {
	if from, err = download(ctx, target, a, w, out); err != nil {
		return "", err
	}
	if err := store.CheckGGUF(w.FS, a.part(), a.Path.Base()); err != nil {
		return "", err
	}
	if err := w.FS.Chmod(a.part(), store.BlobMode(w.FS, a.Store)); err != nil {
		return "", fmt.Errorf("publish %s: %w", a.blob(), err)
	}
	err = w.FS.Move(a.part(), a.blob())
	if !errors.Is(err, fs.ErrExist) {
		return from, err
	}
	// Another process that shares the store was quicker.
	if err := haveBlob(ctx, note{}, a, w.FS); err != nil {
		return "", err
	}
	info, err := w.FS.Lstat(a.part())
	if err == nil {
		err = w.FS.Discard(a.part(), info)
	}
	return from, err
}

// download completes the part of a. A complete part needs no network.
func download(ctx context.Context, target reconcile.Address, a Artifact, w reconcile.WriteEnv, out *reconcile.Outcome) (from string, err error) {
	made, err := store.MakeDir(w.FS, a.Store, a.part().Dir())
	out.Dirs = append(out.Dirs, made...)
	if err != nil {
		return "", err
	}
	if whole(w.FS, a) {
		sum, err := store.Hash(ctx, w.FS, a.part(), nil)
		if err != nil || strings.EqualFold(sum, a.SHA256) {
			return "", err
		}
	}
	if w.Fetch == nil {
		return "", fmt.Errorf("%s (%d bytes): %w; run it again with the network", a.Path.Base(), a.Size, reconcile.ErrOffline)
	}
	progress := func(done, total int64) {
		if w.Progress != nil {
			w.Progress(target, done, total)
		}
	}
	return w.Fetch.Fetch(ctx, w.FS, a.ID, a.Sources, a.Size, lower(a.SHA256), a.part(), progress)
}
