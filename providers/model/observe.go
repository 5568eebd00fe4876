package model

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Provider keeps model files. It is stateless.
type Provider struct{}

var (
	_ reconcile.Relater     = Provider{}
	_ reconcile.Confirmer   = Provider{}
	_ reconcile.Permanent   = Provider{}
	_ reconcile.Preflighter = Provider{}
	_ reconcile.Verifier    = Provider{}
)

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "model" }

// NotUndone implements reconcile.Permanent.
func (Provider) NotUndone() string {
	return "a download is kept; remove it by hand when nothing needs it"
}

// Satisfied implements reconcile.Relater. A file of the right size is taken
// for the right one until it is taken over: then Confirm reads it.
func (Provider) Satisfied(l reconcile.Leaf, live reconcile.Fingerprint) bool {
	if live == l.Body.Fingerprint() {
		return true
	}
	a, ok := l.Body.(Artifact)
	return ok && a.SHA256 != "" && live == unverified(a.Size, a.Path)
}

// Observe implements reconcile.Provider. It only looks at stats: the cost of a
// plan does not depend on the size of models.
func (Provider) Observe(_ context.Context, r reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	out := make([]reconcile.Observation, len(batch))
	for i, t := range batch {
		out[i] = observe(r.FS, t)
	}
	return out
}

func observe(r fsys.Reader, t reconcile.Target) reconcile.Observation {
	o := reconcile.Observation{Live: map[reconcile.LeafKey]reconcile.Fingerprint{}}
	var tokens []string
	for _, l := range t.Resource.Leaves {
		if a, ok := l.Body.(Artifact); ok && a.Unknown != "" {
			return reconcile.Observation{Presence: reconcile.Unknown, Reason: a.Unknown}
		}
	}
	for _, key := range t.Keys() {
		f := lookAt(r, t, key)
		if f.presence == reconcile.Blocked || f.presence == reconcile.Unknown {
			return reconcile.Observation{Presence: f.presence, Reason: f.reason}
		}
		if f.presence == reconcile.Present {
			o.Presence = reconcile.Present
			o.Live[key] = f.live
			tokens = append(tokens, string(key)+"="+string(f.live))
		}
		o.Fetch += f.fetch
		if o.Reason == "" {
			o.Reason = f.reason
		}
	}
	o.Token = reconcile.Fingerprint(strings.Join(tokens, "\n"))
	return o
}

// found is what there is of one file.
type found struct {
	presence reconcile.Presence
	reason   string
	live     reconcile.Fingerprint
	note     note // what was recorded of it
	moved    bool // it is intact at note.Path, and wanted elsewhere
	fetch    int64
}

// lookAt finds the file that key wants, or that was recorded of it.
func lookAt(r fsys.Reader, t reconcile.Target, key reconcile.LeafKey) found {
	f := found{}
	for i := range t.Last {
		if t.Last[i].Key == key {
			f.note = noteOf(&t.Last[i])
		}
	}
	var want Artifact
	for _, l := range t.Resource.Leaves {
		if l.Key == key {
			want, _ = l.Body.(Artifact)
		}
	}
	at := want.Path
	if at == "" {
		at = f.note.Path
	}
	if at == "" {
		return f
	}
	info, err := r.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.absent(r, want)
		return f
	case errors.Is(err, fsys.ErrEscapes), errors.Is(err, fsys.ErrBlocked):
		f.presence, f.reason = reconcile.Blocked, err.Error()
		return f
	case err != nil:
		f.presence, f.reason = reconcile.Unknown, fmt.Sprintf("%s: %v", at, err)
		return f
	case !info.Mode().IsRegular():
		f.presence = reconcile.Blocked
		f.reason = fmt.Sprintf("%s is no regular file; move it away, or let the store of the spec name the folder where the models really are", at)
		return f
	}
	f.presence = reconcile.Present
	switch {
	case f.note.intact(at, info):
		f.live = f.note.fingerprint()
	default:
		f.live = unverified(info.Size(), at)
		if want.Path != "" && want.SHA256 == "" {
			f.reason = fmt.Sprintf("%s is there, and no digest is pinned to compare it with; run aisync lock while online", at)
		}
	}
	if want.Path != "" && f.live != want.Fingerprint() && f.live != unverified(want.Size, at) {
		f.fetch = missing(r, want)
	}
	return f
}

// absent fills f where nothing lies under the wanted name: the bytes may be
// where the store was before.
func (f *found) absent(r fsys.Reader, want Artifact) {
	if want.Path == "" {
		return
	}
	if f.note.Path != "" && f.note.Path != want.Path {
		if info, err := r.Lstat(f.note.Path); err == nil && f.note.intact(f.note.Path, info) {
			f.presence, f.live = reconcile.Present, f.note.fingerprint()
			f.moved = strings.EqualFold(f.note.SHA256, want.SHA256)
		}
	}
	if !f.moved {
		f.fetch = missing(r, want)
	}
}

// missing is what has still to be fetched of a.
func missing(r fsys.Reader, a Artifact) int64 {
	if a.SHA256 == "" {
		return a.Size // the catalog's figure, until it is pinned
	}
	if info, err := r.Lstat(a.part()); err == nil {
		return max(0, a.Size-info.Size())
	}
	return a.Size
}
