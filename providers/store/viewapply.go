package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Apply implements reconcile.Provider. A kill between removing the old name and
// placing the new one leaves nothing under the name; no byte is lost.
func (Provider) Apply(_ context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	out := reconcile.Outcome{Token: c.Before.Token}
	for _, l := range c.Leaves {
		if !l.Writes() {
			continue
		}
		s, now := lookAtView(w.ReadEnv, c.Target)
		a := c.Target.Resource.Address
		want, ok := View{}, false
		if l.Want != nil {
			if want, ok = l.Want.Body.(View); !ok {
				return reconcile.Outcome{}, fmt.Errorf("%s wants a %T, not a view", a, l.Want.Body)
			}
		}
		switch {
		case now.Presence == reconcile.Blocked || now.Presence == reconcile.Unknown:
			return reconcile.Outcome{}, fmt.Errorf("%w; %s", reconcile.ErrStale, now.Reason)
		case ok && now.Live[l.Key] == want.Fingerprint():
		case now.Token != c.Before.Token && (ok || now.Presence != reconcile.Absent):
			return reconcile.Outcome{}, fmt.Errorf("%s %w; run the command again", a.Name(), reconcile.ErrStale)
		}
		last := viewNoteOf(l.Last)
		if before := c.Before.Live[l.Key]; ok && now.Live[l.Key] == want.Fingerprint() && before != now.Live[l.Key] { // as after a kill
			made := WasAside(w.FS, a.Path(w.Home), func(i fs.FileInfo) bool { return i.Mode().IsRegular() && unread(i.Size()) == before })
			last.Aside = cmp.Or(made, last.Aside)
		}
		n, dirs, err := last.apply(w.FS, a.Path(w.Home), s, now.Live[l.Key], want)
		if err != nil {
			return reconcile.Outcome{}, fmt.Errorf("%s: %w", a.Name(), err)
		}
		out.Token, out.Dirs = "", dirs
		if l.Want != nil {
			out.Token = want.Fingerprint()
			raw, _ := json.Marshal(n) // plain fields: cannot fail
			out.LeafPrivate = map[reconcile.LeafKey]json.RawMessage{l.Key: raw}
		}
	}
	return out, nil
}

// Foretell implements reconcile.Foreteller: which bytes a new name will stand
// for. It shows after a kill that aisync made the name.
func (Provider) Foretell(_ context.Context, _ reconcile.ReadEnv, c reconcile.Change) reconcile.Outcome {
	out := reconcile.Outcome{LeafPrivate: map[reconcile.LeafKey]json.RawMessage{}}
	for _, l := range c.Leaves {
		if l.Action != reconcile.Create || l.Want == nil || c.Before.Presence != reconcile.Absent {
			continue
		}
		if v, ok := l.Want.Body.(View); ok {
			raw, _ := json.Marshal(viewNote{Dir: v.Dir, SHA256: strings.ToLower(v.SHA256), Path: v.Path, Stat: Stat{Size: v.Size}}) // plain fields: cannot fail
			out.LeafPrivate[l.Key] = raw
		}
	}
	return out
}

// apply makes p show want, or nothing of ours if want is zero, and returns the
// note to record. If it fails, p is as before.
func (n viewNote) apply(w fsys.FS, p fsys.LogicalPath, s Seen, live reconcile.Fingerprint, want View) (viewNote, []fsys.LogicalPath, error) {
	if want.SHA256 == "" {
		_, n, err := n.clear(w, p, s, live)
		if err == nil && n.Aside != "" {
			if err = w.Move(n.Aside, p); errors.Is(err, fs.ErrNotExist) {
				err = nil // another process took it
			}
		}
		return n, nil, err
	}
	made, err := MakeDir(w, want.Dir, p.Dir())
	how, back := s.How, func() error { return nil }
	if err == nil && live != want.Fingerprint() {
		if _, err = w.Lstat(want.source(w)); err != nil {
			err = fmt.Errorf("its bytes are not in the store: %w; %s", err, advice.VerifyModels)
		} else if back, n, err = n.clear(w, p, s, live); err == nil {
			how, err = Place(w, want.Dir, want.source(w), p)
		}
	}
	if err != nil {
		err = errors.Join(err, back())
		Tidy(w, made)
		return n, nil, err
	}
	n.Dir, n.SHA256, n.Path, n.How, n.Stat = want.Dir, strings.ToLower(want.SHA256), want.Path, how, Stat{Size: want.Size}
	if info, err := w.Lstat(p); err == nil && n.How != Symlink {
		n.Stat = StatOf(info)
	}
	return n, made, nil
}

// clear removes what lies at p: our name of bytes that have another, or else by
// renaming it. back undoes that.
func (n viewNote) clear(w fsys.FS, p fsys.LogicalPath, s Seen, live reconcile.Fingerprint) (back func() error, _ viewNote, err error) {
	back = func() error { return nil }
	switch {
	case s.How == Absent:
		return back, n, nil
	case n.SHA256 == "" || live != shows(n.SHA256): // not ours
		aside, err := Aside(w, p)
		if err == nil {
			n.Aside, back = aside, func() error { return w.Move(aside, p) }
		}
		return back, n, err
	}
	if s.Info.Mode().IsRegular() && s.Blob == nil {
		err = Keep(w, n.Dir, n.SHA256, p)
	} else {
		err = w.Discard(p, s.Info)
	}
	if err == nil {
		old := n.view().source(w)
		back = func() error { _, err := Place(w, n.Dir, old, p); return err }
	}
	return back, n, err
}

// Confirm implements reconcile.Confirmer: it reads every byte of a file that is
// about to be adopted.
func (Provider) Confirm(ctx context.Context, r reconcile.ReadEnv, c reconcile.Change) (reconcile.Outcome, error) {
	out := reconcile.Outcome{Token: c.Before.Token}
	for _, l := range c.Leaves {
		if l.Want == nil || l.Action != reconcile.Accept || l.Decline {
			continue
		}
		v, ok := l.Want.Body.(View)
		if !ok {
			return out, fmt.Errorf("%s wants a %T, not a view", c.Target.Resource.Address, l.Want.Body)
		}
		p := c.Target.Resource.Address.Path(r.Home)
		s, now := lookAtView(r, c.Target)
		if now.Live[l.Key] != v.Fingerprint() {
			sum, err := Hash(ctx, r.FS, p, nil)
			if err != nil {
				return out, err
			}
			if !strings.EqualFold(sum, v.SHA256) {
				return out, fmt.Errorf("sha256 mismatch in %s: want %s, got %s; move it away and apply again", p, v.SHA256, sum)
			}
		}
		n := viewNoteOf(l.Last)
		n.Dir, n.SHA256, n.Path, n.How, n.Stat = v.Dir, strings.ToLower(v.SHA256), v.Path, s.How, Stat{Size: v.Size}
		if s.Info != nil && s.How != Symlink {
			n.Stat = StatOf(s.Info)
		}
		raw, _ := json.Marshal(n) // plain fields: cannot fail
		out.Token = v.Fingerprint()
		out.LeafPrivate = map[reconcile.LeafKey]json.RawMessage{l.Key: raw}
		out.LeafLive = map[reconcile.LeafKey]reconcile.Fingerprint{l.Key: out.Token}
	}
	return out, nil
}
