package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/reconcile"
)

// Apply implements reconcile.Provider. A file enters the store by one rename,
// after all its bytes are verified, and gets its name then. What had that name
// is renamed aside just before. A kill leaves a part that the next call goes on
// from; a kill between the two renames leaves nothing under the name, and both
// files where they can be found.
func (Provider) Apply(ctx context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	out := reconcile.Outcome{LeafPrivate: map[reconcile.LeafKey]json.RawMessage{}, LeafLive: map[reconcile.LeafKey]reconcile.Fingerprint{}}
	fail := func(err error) (reconcile.Outcome, error) {
		return reconcile.Outcome{Dirs: out.Dirs}, err
	}
	from := map[reconcile.LeafKey]string{}
	// No name is made before the bytes of all shards are there.
	for _, l := range c.Leaves {
		if !l.Writes() || l.Want == nil {
			continue
		}
		source, err := ready(ctx, c, l, w, &out)
		if err != nil {
			return fail(err)
		}
		from[l.Key] = source
	}
	for _, l := range c.Leaves {
		if !l.Writes() {
			continue
		}
		if l.Want == nil {
			if err := drop(c, l, w); err != nil {
				return fail(err)
			}
			continue
		}
		n, err := publish(ctx, c, l, w, &out)
		if err != nil {
			return fail(err)
		}
		n.From = cmp.Or(from[l.Key], n.From)
		out.LeafPrivate[l.Key] = n.raw()
		out.LeafLive[l.Key] = n.fingerprint()
	}
	out.Token = tokenAfter(c, out)
	return out, nil
}

// Foretell implements reconcile.Foreteller: which bytes a new name will stand
// for. It shows after a kill that aisync made the name.
func (Provider) Foretell(_ context.Context, _ reconcile.ReadEnv, c reconcile.Change) reconcile.Outcome {
	out := reconcile.Outcome{LeafPrivate: map[reconcile.LeafKey]json.RawMessage{}}
	for _, l := range c.Leaves {
		if _, there := c.Before.Live[l.Key]; there || l.Action != reconcile.Create || l.Want == nil {
			continue
		}
		if a, err := artifact(*l.Want); err == nil && a.SHA256 != "" {
			out.LeafPrivate[l.Key] = note{Store: a.Store, Path: a.Path, SHA256: lower(a.SHA256)}.raw()
		}
	}
	return out
}

// tokenAfter is the token that Observe will return.
func tokenAfter(c reconcile.Change, out reconcile.Outcome) reconcile.Fingerprint {
	var tokens []string
	for _, l := range c.Leaves {
		live, ok := out.LeafLive[l.Key]
		if !ok && !(l.Want == nil && l.Writes()) {
			live, ok = c.Before.Live[l.Key]
		}
		if ok {
			tokens = append(tokens, string(l.Key)+"="+string(live))
		}
	}
	return reconcile.Fingerprint(strings.Join(tokens, "\n"))
}

// drop removes the name and puts back what it displaced. The bytes stay in the
// store.
func drop(c reconcile.Change, l reconcile.LeafChange, w reconcile.WriteEnv) error {
	f := lookAt(w.FS, c.Target, l.Key)
	if f.presence != reconcile.Present {
		return nil
	}
	if f.live != c.Before.Live[l.Key] {
		return fmt.Errorf("%s %w; run the command again", f.note.Path, reconcile.ErrStale)
	}
	if f.live != f.note.fingerprint() {
		return nil // forced, and not ours: bytes of a model are never deleted
	}
	if _, err := retire(w.FS, f.note, f.at); err != nil {
		return err
	}
	if f.note.Aside != "" {
		if err := w.FS.Move(f.note.Aside, f.note.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put back the prior file: %w", err)
		}
	}
	return nil
}
