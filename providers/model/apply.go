package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Apply implements reconcile.Provider. The file appears under its name by one
// rename, when all of it is verified. What lay there is renamed aside just
// before. Killed, it leaves a part that the next call goes on from; killed
// between the two renames, nothing under the name, and both files beside it.
func (Provider) Apply(ctx context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	out := reconcile.Outcome{LeafPrivate: map[reconcile.LeafKey]json.RawMessage{}, LeafLive: map[reconcile.LeafKey]reconcile.Fingerprint{}}
	for _, l := range c.Leaves {
		if !l.Writes() || l.Want == nil {
			continue // bytes stay when their record goes
		}
		a, err := artifact(*l.Want)
		if err == nil {
			err = a.pinned()
		}
		if err != nil {
			return out, err
		}
		n, err := publish(ctx, c, l, a, w, &out)
		if err != nil {
			return reconcile.Outcome{Dirs: out.Dirs}, err
		}
		out.LeafPrivate[l.Key] = n.raw()
		out.LeafLive[l.Key] = n.fingerprint()
	}
	out.Token = tokenAfter(c, out)
	return out, nil
}

// tokenAfter is what Observe will say of the target.
func tokenAfter(c reconcile.Change, out reconcile.Outcome) reconcile.Fingerprint {
	var tokens []string
	for _, l := range c.Leaves {
		live, ok := out.LeafLive[l.Key]
		if !ok {
			live, ok = c.Before.Live[l.Key]
		}
		if ok {
			tokens = append(tokens, string(l.Key)+"="+string(live))
		}
	}
	return reconcile.Fingerprint(strings.Join(tokens, "\n"))
}

// publish makes the file of a be there.
func publish(ctx context.Context, c reconcile.Change, l reconcile.LeafChange, a Artifact, w reconcile.WriteEnv, out *reconcile.Outcome) (note, error) {
	f := lookAt(w.FS, c.Target, l.Key)
	n := note{}
	if l.Last != nil {
		n.Aside = noteOf(l.Last).Aside
	}
	if info, err := w.FS.Lstat(a.Path); err == nil && info.Size() == a.Size {
		// Perhaps it is the right one already, as after a kill.
		if f.live == a.Fingerprint() {
			return verified(w.FS, a, n.Aside)
		}
		if sum, err := hashAt(ctx, w.FS, a.Path); err != nil {
			return note{}, err
		} else if strings.EqualFold(sum, a.SHA256) {
			return verified(w.FS, a, n.Aside)
		}
	}
	if f.live != c.Before.Live[l.Key] {
		return note{}, fmt.Errorf("%s %w; run the command again", a.Path, reconcile.ErrStale)
	}
	if err := makeDir(w.FS, a.Path.Dir(), out); err != nil {
		return note{}, err
	}
	if f.moved {
		if err := w.FS.Move(f.note.Path, a.Path); err != nil {
			return note{}, fmt.Errorf("move from the store of before: %w", err)
		}
		return verified(w.FS, a, n.Aside)
	}
	if err := download(ctx, c.Target.Resource.Address, a, w, out); err != nil {
		return note{}, err
	}
	if err := w.FS.Chmod(a.part(), 0o444); err != nil {
		return note{}, fmt.Errorf("publish %s: %w", a.Path, err)
	}
	aside := fsys.LogicalPath("")
	if f.presence == reconcile.Present { // as the plan saw it, and may be renamed
		var err error
		if aside, err = makePlace(ctx, w.FS, a.Path); err != nil {
			return note{}, err
		}
	}
	if err := w.FS.Move(a.part(), a.Path); err != nil {
		if aside != "" {
			err = errors.Join(err, w.FS.Move(aside, a.Path))
		}
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w (%w); run the command again", reconcile.ErrStale, err)
		}
		return note{}, fmt.Errorf("publish %s: %w", a.Path, err)
	}
	if aside != "" {
		n.Aside = aside
	}
	return verified(w.FS, a, n.Aside)
}

// download brings the part of a to its end. A part that is whole already needs no
// network.
func download(ctx context.Context, target reconcile.Address, a Artifact, w reconcile.WriteEnv, out *reconcile.Outcome) error {
	if err := makeDir(w.FS, a.part().Dir(), out); err != nil {
		return err
	}
	if info, err := w.FS.Lstat(a.part()); err == nil && info.Size() == a.Size {
		sum, err := hashAt(ctx, w.FS, a.part())
		if err != nil || strings.EqualFold(sum, a.SHA256) {
			return err
		}
	}
	if w.Fetch == nil {
		return fmt.Errorf("fetching its %d bytes %w", a.Size, reconcile.ErrOffline)
	}
	progress := func(done, total int64) {
		if w.Progress != nil {
			w.Progress(target, done, total)
		}
	}
	return w.Fetch.Fetch(ctx, w.FS, a.Path.Base(), a.Sources, a.Size, strings.ToLower(a.SHA256), a.part(), progress)
}

func makeDir(w fsys.FS, p fsys.LogicalPath, out *reconcile.Outcome) error {
	made, err := w.MkdirAll(p, 0o755)
	out.Dirs = append(out.Dirs, made...)
	return err
}

// makePlace renames what lies at p and returns its new name; "" where nothing
// does. The name tells the bytes, so that doing it twice is doing it once.
func makePlace(ctx context.Context, w fsys.FS, p fsys.LogicalPath) (fsys.LogicalPath, error) {
	if _, err := w.Lstat(p); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	sum, err := hashAt(ctx, w, p)
	if err != nil {
		return "", err
	}
	aside := p.Dir().Join(p.Base() + ".aside-" + sum[:8])
	if err := w.Move(p, aside); err != nil {
		return "", fmt.Errorf("make place: %w", err)
	}
	return aside, nil
}

// verified notes that the bytes at a.Path are those of a.
func verified(r fsys.Reader, a Artifact, aside fsys.LogicalPath) (note, error) {
	info, err := r.Lstat(a.Path)
	if err != nil {
		return note{}, err
	}
	n := noteAt(a.Path, strings.ToLower(a.SHA256), info)
	n.Aside = aside
	return n, nil
}
