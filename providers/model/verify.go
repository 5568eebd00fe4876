package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
)

// Confirm implements reconcile.Confirmer: it reads every byte of a file that is
// about to be adopted.
func (Provider) Confirm(ctx context.Context, r reconcile.ReadEnv, c reconcile.Change) (reconcile.Outcome, error) {
	out := reconcile.Outcome{
		Token:       c.Before.Token,
		LeafPrivate: map[reconcile.LeafKey]json.RawMessage{},
		LeafLive:    map[reconcile.LeafKey]reconcile.Fingerprint{},
	}
	var wrong []error
	for _, l := range c.Leaves {
		if l.Want == nil || l.Action != reconcile.Accept || l.Decline {
			continue
		}
		a, err := artifact(*l.Want)
		if err != nil {
			return out, err
		}
		n, err := confirm(ctx, r, lookAt(r.FS, c.Target, l.Key), a)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		out.LeafPrivate[l.Key], out.LeafLive[l.Key] = n.raw(), n.fingerprint()
	}
	out.Token = tokenAfter(c, out)
	return out, errors.Join(wrong...)
}

// confirm reads the file of a and compares it, unless this user has just
// verified it.
func confirm(ctx context.Context, r reconcile.ReadEnv, f found, a Artifact) (note, error) {
	p, bytes := a.Path, f.at.Info
	if f.at.How == store.HardLink || f.at.How == store.Symlink {
		p, bytes = a.blob(), f.at.Blob
	}
	switch {
	case bytes == nil:
		return note{}, fmt.Errorf("%s %w; run the command again", a.Path, reconcile.ErrStale)
	case f.live == a.Fingerprint(), p == a.blob() && store.Marked(r.FS, a.Store, a.SHA256, bytes):
	default:
		sum, err := store.Hash(ctx, r.FS, p, nil)
		if err != nil {
			return note{}, err
		}
		if !strings.EqualFold(sum, a.SHA256) {
			at, _ := r.FS.Physical(a.Path)
			next := fmt.Sprintf("move it away (mv %s %s.wrong) and apply again to fetch the right one", at, at)
			if strings.EqualFold(f.note.SHA256, a.SHA256) && f.note.Stat != (store.Stat{}) {
				next = store.Again(a.ID)
			}
			return note{}, fmt.Errorf("sha256 mismatch in %s: want %s, got %s; %s", p, a.SHA256, sum, next)
		}
		after, err := r.FS.Lstat(p)
		if err != nil {
			return note{}, err
		}
		if !store.StatOf(bytes).Of(after) {
			return note{}, fmt.Errorf("%s was written to while it was read; run the command again", p)
		}
	}
	return noteOn(a, f.at, bytes, f.note.Aside, clock(r)), store.CheckGGUF(r.FS, p, a.Path.Base())
}

// Verify implements reconcile.Verifier: it reads every byte again.
func (Provider) Verify(ctx context.Context, r reconcile.ReadEnv, t reconcile.Target) error {
	var wrong []error
	for i := range t.Last {
		n := noteOf(&t.Last[i])
		if n.Path == "" {
			continue
		}
		p := n.Path
		if info, err := r.FS.Lstat(n.blob()); n.Store != "" && err == nil && info.Mode().IsRegular() {
			p = n.blob()
		}
		sum, err := store.Hash(ctx, r.FS, p, nil)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case sum != n.SHA256:
			wrong = append(wrong, fmt.Errorf("sha256 mismatch in %s: want %s, got %s", p, n.SHA256, sum))
		}
	}
	return errors.Join(wrong...)
}
