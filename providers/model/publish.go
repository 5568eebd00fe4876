package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// right reports whether the name of a already shows the wanted file, as after a
// kill, and returns its note.
func right(ctx context.Context, c reconcile.Change, l reconcile.LeafChange, f found, a Artifact, w reconcile.WriteEnv) (note, bool, error) {
	if f.live == a.Fingerprint() {
		n := f.note
		n.Store = a.Store
		return n, true, nil
	}
	if s, ok := shown(w.FS, a); ok && store.Marked(w.FS, a.Store, a.SHA256, s.Blob) {
		return noteOn(a, s, s.Blob, madeAside(w.FS, c, l, f.note, a), clock(w.ReadEnv)), true, nil
	}
	if f.at.How != store.File || f.at.Info.Size() != a.Size {
		return note{}, false, nil
	}
	sum, err := store.Hash(ctx, w.FS, a.Path, nil)
	if err != nil || !strings.EqualFold(sum, a.SHA256) {
		return note{}, false, err
	}
	return noteOn(a, f.at, f.at.Info, f.note.Aside, clock(w.ReadEnv)), true, store.CheckGGUF(w.FS, a.Path, a.Path.Base())
}

// shown reports whether the name of a is one of its blob, or leads to it.
func shown(r fsys.Reader, a Artifact) (store.Seen, bool) {
	s, err := store.Look(r, a.Path, a.blob())
	return s, err == nil && (s.How == store.HardLink || s.How == store.Symlink)
}

// madeAside is what made place for the name of a, which is there: what n notes
// or, where a call that was killed renamed it, what the plan saw under the name.
func madeAside(r fsys.Reader, c reconcile.Change, l reconcile.LeafChange, n note, a Artifact) fsys.LogicalPath {
	before, had := c.Before.Live[l.Key]
	if !had {
		return n.Aside
	}
	seen := func(i fs.FileInfo) bool {
		return i.Mode().IsRegular() && (before == unverified(i.Size(), a.Path) || before == n.fingerprint() && (n.Stat.Of(i) || n.Clone.Of(i)))
	}
	return cmp.Or(store.WasAside(r, a.Path, seen), n.Aside)
}

// ready brings the bytes that l wants into the store, and returns the source that
// served them, "" for none.
func ready(ctx context.Context, c reconcile.Change, l reconcile.LeafChange, w reconcile.WriteEnv, out *reconcile.Outcome) (from string, err error) {
	a, err := artifact(*l.Want)
	if err == nil {
		err = a.pinned()
	}
	if err != nil {
		return "", err
	}
	f := lookAt(w.FS, c.Target, l.Key)
	if _, ok, err := right(ctx, c, l, f, a, w); ok || err != nil {
		return "", err
	}
	if _, ok := shown(w.FS, a); !ok && f.live != c.Before.Live[l.Key] {
		return "", fmt.Errorf("%s %w; run the command again", a.Path, reconcile.ErrStale)
	}
	return stock(ctx, c.Target.Resource.Address, f.note, a, w, out)
}

// publish makes the name that l wants show its bytes, which are in the store.
func publish(ctx context.Context, c reconcile.Change, l reconcile.LeafChange, w reconcile.WriteEnv, out *reconcile.Outcome) (note, error) {
	a, err := artifact(*l.Want)
	if err != nil {
		return note{}, err
	}
	f := lookAt(w.FS, c.Target, l.Key)
	aside := f.note.Aside
	if n, ok, err := right(ctx, c, l, f, a, w); ok || err != nil {
		return n, err
	}
	if f.live != c.Before.Live[l.Key] && f.at.How == store.File {
		return note{}, fmt.Errorf("%s %w; run the command again", a.Path, reconcile.ErrStale)
	}
	bytes, err := w.FS.Lstat(a.blob())
	if err != nil {
		return note{}, err
	}
	if f.note.Path != "" && f.note.Path != a.Path {
		if err := leave(w.FS, f.note, a, l.Last); err != nil {
			return note{}, err
		}
	}
	made, err := store.MakeDir(w.FS, a.Store, a.Path.Dir())
	out.Dirs = append(out.Dirs, made...)
	if err != nil {
		return note{}, err
	}
	s, err := store.Look(w.FS, a.Path, a.blob())
	if err != nil {
		return note{}, err
	}
	if s.How == store.HardLink || s.How == store.Symlink {
		aside = madeAside(w.FS, c, l, f.note, a)
	} else {
		back := func() error { return nil }
		if s.How != store.Absent {
			ours := f.live == fingerprint(f.note.SHA256, a.Path) && !(f.note.How == store.File && l.Last != nil && l.Last.Provenance == reconcile.Adopted)
			if ours {
				old := f.note
				old.Path = a.Path
				back, err = retire(w.FS, old, s)
			} else if aside, err = store.Aside(w.FS, a.Path); err == nil {
				back = func() error { return w.FS.Move(aside, a.Path) }
			}
			if err != nil {
				return note{}, err
			}
		}
		how, err := store.Place(w.FS, a.Store, a.blob(), a.Path)
		if err != nil {
			err = errors.Join(err, back())
			store.Tidy(w.FS, made)
			if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("%w (%w); run the command again", reconcile.ErrStale, err)
			}
			return note{}, fmt.Errorf("publish %s: %w", a.Path, err)
		}
		if s, err = store.Look(w.FS, a.Path, a.blob()); err != nil {
			return note{}, err
		}
		if how == store.RefLink {
			s.How = store.File
		}
	}
	return noteOn(a, s, bytes, aside, clock(w.ReadEnv)), nil
}

// retire removes the name s that n records, after giving its bytes a name in
// the store if they have none. back undoes it.
func retire(w fsys.FS, n note, s store.Seen) (back func() error, err error) {
	if n.Store == "" {
		n.Store = n.Path.Dir().Dir() // an earlier layout: STORE/ID/FILE
	}
	back = func() error { _, err := store.Place(w, n.Store, n.blob(), n.Path); return err }
	if s.Info.Mode().IsRegular() {
		if _, err := w.Lstat(n.blob()); errors.Is(err, fs.ErrNotExist) {
			return back, store.Keep(w, n.Store, n.SHA256, n.Path)
		}
	}
	return back, w.Discard(n.Path, s.Info)
}

// leave removes the former name, unless it shows another file now. It runs
// before the new name is made: a kill afterwards would leave the new name
// unrecorded.
func leave(w fsys.FS, n note, a Artifact, last *reconcile.LeafRecord) error {
	s, err := store.Look(w, n.Path, n.blob())
	if err != nil || !n.intact(s) || last == nil || last.Provenance == reconcile.Adopted {
		return nil // nothing of ours is there
	}
	if _, err := retire(w, n, s); err != nil {
		return fmt.Errorf("former name: %w", err)
	}
	if n.Path.Dir() != a.Store {
		store.Tidy(w, []fsys.LogicalPath{n.Path.Dir()})
	}
	return nil
}
