package model

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Provider keeps model files. It has no state.
type Provider struct{}

var (
	_ reconcile.Relater     = Provider{}
	_ reconcile.Confirmer   = Provider{}
	_ reconcile.Permanent   = Provider{}
	_ reconcile.Preflighter = Provider{}
	_ reconcile.Verifier    = Provider{}
	_ reconcile.Placed      = Provider{}
	_ reconcile.Foreteller  = Provider{}
)

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "model" }

// NotUndone implements reconcile.Permanent.
func (Provider) NotUndone() string {
	return "a download is kept; remove it by hand when nothing needs it"
}

// Folder implements reconcile.Placed: all files of a model share one folder.
func (Provider) Folder(t reconcile.Target, _ fsys.LogicalPath) fsys.LogicalPath {
	for _, l := range t.Resource.Leaves {
		if a, ok := l.Body.(Artifact); ok {
			return a.Path.Dir()
		}
	}
	for i := range t.Last {
		if n := noteOf(&t.Last[i]); n.Path != "" {
			return n.Path.Dir()
		}
	}
	return ""
}

// Satisfied implements reconcile.Relater. A file of the right size counts as
// right until it is adopted: then Confirm reads it.
func (Provider) Satisfied(l reconcile.Leaf, live reconcile.Fingerprint) bool {
	if live == l.Body.Fingerprint() {
		return true
	}
	a, ok := l.Body.(Artifact)
	return ok && a.SHA256 != "" && live == unverified(a.Size, a.Path)
}

// Observe implements reconcile.Provider. It reads only stats: the cost of a
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
		o.Fetch, o.Space = o.Fetch+f.fetch, o.Space+f.space
		if o.Reason == "" {
			o.Reason = f.reason
		}
	}
	o.Token = reconcile.Fingerprint(strings.Join(tokens, "\n"))
	return o
}

// found is the state of one file.
type found struct {
	presence reconcile.Presence
	reason   string
	live     reconcile.Fingerprint
	note     note       // its record
	at       store.Seen // what lies under the name
	moved    bool       // it is intact where it was recorded, and wanted elsewhere
	fetch    int64
	space    int64 // that fetch still takes on the disk
}

// lookAt finds the file that key wants, or that is recorded for it.
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
	s, sha256, err := see(r, at, f.note, want)
	f.at = s
	switch {
	case errors.Is(err, fsys.ErrEscapes), errors.Is(err, fsys.ErrBlocked):
		f.presence, f.reason = reconcile.Blocked, err.Error()
		return f
	case err != nil:
		f.presence, f.reason = reconcile.Unknown, fmt.Sprintf("%s: %v", at, err)
		return f
	case s.How == store.Absent, s.How == store.Symlink && s.Blob == nil:
		f.absent(r, want)
		return f
	case s.How == store.Strange, s.How == store.Other:
		f.presence = reconcile.Blocked
		f.reason = fmt.Sprintf("%s is not a regular file; move it away, or let the spec's store name the folder that holds the models", at)
		return f
	}
	f.presence = reconcile.Present
	switch {
	case f.note.intact(s) && (s.How == store.File || sha256 == f.note.SHA256), sha256 == f.note.SHA256 && f.note.foretold(r, s):
		f.live = fingerprint(f.note.SHA256, at)
	case s.How == store.File:
		f.live = unverified(s.Info.Size(), at)
	default:
		f.live = unverified(s.Blob.Size(), at)
	}
	if want.Path != "" && want.SHA256 == "" && f.live == unverified(s.Info.Size(), at) {
		f.reason = fmt.Sprintf("%s exists, but no digest is pinned to compare it with; %s", at, advice.LockOnline)
	}
	if want.Path != "" && f.live != want.Fingerprint() && f.live != unverified(want.Size, at) {
		f.misses(r, want)
	}
	return f
}

// see looks at a name that may show the recorded or the wanted blob, and says
// which.
func see(r fsys.Reader, at fsys.LogicalPath, n note, want Artifact) (store.Seen, string, error) {
	s, err := store.Look(r, at, n.blob())
	if err == nil && s.How != store.HardLink && s.How != store.Symlink && want.blob() != n.blob() {
		s, err = store.Look(r, at, want.blob())
		return s, lower(want.SHA256), err
	}
	return s, n.SHA256, err
}

// absent fills f if the wanted name does not exist: the bytes may lie where the
// record says, under the former name.
func (f *found) absent(r fsys.Reader, want Artifact) {
	if want.Path == "" {
		return
	}
	if f.note.Path != "" && f.note.Path != want.Path {
		s, err := store.Look(r, f.note.Path, f.note.blob())
		if err != nil && !fsys.Conclusive(err) {
			f.presence, f.reason = reconcile.Unknown, fmt.Sprintf("%s: %v", f.note.Path, err)
			return
		}
		if err == nil && f.note.intact(s) {
			f.presence, f.live = reconcile.Present, f.note.fingerprint()
			f.moved = strings.EqualFold(f.note.SHA256, want.SHA256)
		}
	}
	if !f.moved {
		f.misses(r, want)
	}
}

// misses fills in what is to be fetched of want.
func (f *found) misses(r fsys.Reader, want Artifact) {
	if f.fetch = missing(r, want); f.fetch > 0 && want.SHA256 != "" {
		f.space = min(f.fetch, store.Space(r, want.part(), want.Size))
	} else {
		f.space = f.fetch
	}
}

// missing is the number of bytes of a still to fetch.
func missing(r fsys.Reader, a Artifact) int64 {
	if a.SHA256 == "" {
		return a.Size // the catalog's figure, until it is pinned
	}
	for _, p := range append([]fsys.LogicalPath{a.blob()}, a.elsewhere()...) {
		if info, err := r.Lstat(p); err == nil && info.Mode().IsRegular() && info.Size() == a.Size {
			return 0
		}
	}
	info, err := r.Lstat(a.part())
	if err != nil {
		return a.Size
	}
	return max(0, a.Size-store.Fetched(r, a.part(), info))
}

// elsewhere lists the places outside the store where the bytes of a may lie:
// those of an earlier layout, and the names in other programs' folders.
func (a Artifact) elsewhere() []fsys.LogicalPath {
	return append([]fsys.LogicalPath{store.Old(a.Store, a.ID, a.Path.Base())}, a.Views...)
}

// whole reports whether the download is complete.
func whole(r fsys.Reader, a Artifact) bool {
	info, err := r.Lstat(a.part())
	if err != nil || info.Size() != a.Size {
		return false
	}
	_, err = r.Lstat(a.part() + ".journal")
	return errors.Is(err, fs.ErrNotExist)
}

func lower(sha256 string) string { return strings.ToLower(sha256) }
