package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/provide"
)

// View is the Body of a name in another program's folder: the bytes of a blob,
// under the key "". The resource's address is view: and the path.
type View struct {
	Dir    fsys.LogicalPath // of the store
	SHA256 string
	Size   int64
	Path   fsys.LogicalPath // the friendly path, for bytes that lie there and not in the blob
}

// Fingerprint implements reconcile.Body.
func (v View) Fingerprint() reconcile.Fingerprint { return shows(v.SHA256) }

// Redacted implements reconcile.Body.
func (v View) Redacted() json.RawMessage {
	b, _ := json.Marshal(struct {
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
	}{v.SHA256, v.Size}) // plain fields: cannot fail
	return b
}

func shows(sha256 string) reconcile.Fingerprint {
	return reconcile.Fingerprint("sha256:" + strings.ToLower(sha256))
}

// unread is the fingerprint of a separate file that was not compared yet.
func unread(size int64) reconcile.Fingerprint {
	return reconcile.Fingerprint(fmt.Sprintf("unverified:%d", size))
}

// source is the path of v's bytes.
func (v View) source(r fsys.Reader) fsys.LogicalPath {
	blob := Blob(v.Dir, v.SHA256)
	if _, err := r.Lstat(blob); err == nil || v.Path == "" {
		return blob
	}
	if info, err := r.Lstat(v.Path); err == nil && info.Mode().IsRegular() && info.Size() == v.Size {
		return v.Path
	}
	return blob
}

// viewNote is LeafRecord.Private.
type viewNote struct {
	Dir    fsys.LogicalPath `json:"dir"`
	SHA256 string           `json:"sha256"`
	Path   fsys.LogicalPath `json:"path,omitempty"`
	How    How              `json:"how"`
	Stat   Stat             `json:"stat"`            // of the name, unless it is a link
	Aside  fsys.LogicalPath `json:"aside,omitempty"` // what was renamed to make place
}

func viewNoteOf(l *reconcile.LeafRecord) viewNote {
	var n viewNote
	if l != nil {
		_ = json.Unmarshal(l.Private, &n) // unreadable: what is there counts as another writer's
	}
	return n
}

func (n viewNote) view() View {
	return View{Dir: n.Dir, SHA256: n.SHA256, Size: n.Stat.Size, Path: n.Path}
}

// Provider keeps views. It has no state.
type Provider struct{}

var (
	_ reconcile.Relater     = Provider{}
	_ reconcile.Confirmer   = Provider{}
	_ reconcile.Permanent   = Provider{}
	_ reconcile.Preflighter = Provider{}
	_ reconcile.Placed      = Provider{}
	_ reconcile.Foreteller  = Provider{}
)

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "view" }

// NotUndone implements reconcile.Permanent.
func (Provider) NotUndone() string { return "a view is removed when no spec asks for it" }

// Satisfied implements reconcile.Relater. A file of the right size counts as
// right until it is adopted: then Confirm reads it.
func (Provider) Satisfied(l reconcile.Leaf, live reconcile.Fingerprint) bool {
	v, ok := l.Body.(View)
	return ok && (live == v.Fingerprint() || live == unread(v.Size))
}

// Folder implements reconcile.Placed.
func (Provider) Folder(t reconcile.Target, home fsys.LogicalPath) fsys.LogicalPath {
	return t.Resource.Address.Path(home).Dir()
}

// Observe implements reconcile.Provider. It reads no byte of a model.
func (Provider) Observe(_ context.Context, r reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	out := make([]reconcile.Observation, len(batch))
	for i, t := range batch {
		_, out[i] = lookAtView(r, t)
	}
	return out
}

// lookAtView examines the address of t.
func lookAtView(r reconcile.ReadEnv, t reconcile.Target) (Seen, reconcile.Observation) {
	p := t.Resource.Address.Path(r.Home)
	var note viewNote
	if len(t.Last) > 0 {
		note = viewNoteOf(&t.Last[0])
	}
	var known []View // what was made, and what is wanted
	if note.SHA256 != "" {
		known = append(known, note.view())
	}
	if len(t.Resource.Leaves) > 0 {
		if v, ok := t.Resource.Leaves[0].Body.(View); ok {
			known = append(known, v)
		}
	}
	var s Seen
	present := func(live reconcile.Fingerprint) reconcile.Observation {
		return reconcile.Observation{Presence: reconcile.Present, Token: live, Live: map[reconcile.LeafKey]reconcile.Fingerprint{"": live}}
	}
	for _, v := range known {
		var err error
		s, err = Look(r.FS, p, v.source(r.FS))
		switch {
		case errors.Is(err, fsys.ErrEscapes), errors.Is(err, fsys.ErrBlocked):
			return s, reconcile.Observation{Presence: reconcile.Blocked, Reason: err.Error()}
		case err != nil:
			return s, reconcile.Observation{Presence: reconcile.Unknown, Reason: fmt.Sprintf("%s: %v", p, err)}
		case s.How == Absent:
			return s, reconcile.Observation{}
		case s.How == HardLink, s.How == Symlink:
			return s, present(v.Fingerprint())
		}
	}
	switch {
	case s.How == File && note.Stat.Of(s.Info):
		s.How = note.How
		return s, present(shows(note.SHA256))
	case s.How == File:
		return s, present(unread(s.Info.Size()))
	case s.How == Strange:
		return s, reconcile.Observation{Presence: reconcile.Blocked, Reason: fmt.Sprintf("%s links to something else; remove the link, or take the view out of the spec", p)}
	}
	return s, reconcile.Observation{Presence: reconcile.Blocked, Reason: fmt.Sprintf("%s is not a file; move it away, or take the view out of the spec", p)}
}

// Explain implements reconcile.Provider.
func (Provider) Explain(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	p := c.Target.Resource.Address.Path(r.Home)
	var lines []reconcile.Line
	say := func(op byte, format string, args ...any) {
		lines = append(lines, reconcile.Line{Op: op, Text: fmt.Sprintf(format, args...)})
	}
	for _, l := range c.Leaves {
		note := viewNoteOf(l.Last)
		if l.Want == nil && l.Writes() {
			say('-', "%s; the bytes stay in the store", p)
			if note.Aside != "" {
				say('+', "%s comes back", note.Aside)
			}
			continue
		}
		v, ok := View{}, false
		if l.Want != nil {
			v, ok = l.Want.Body.(View)
		}
		switch {
		case !ok || l.Action == reconcile.None:
		case l.Action == reconcile.Accept && c.Before.Live[""] != v.Fingerprint():
			say(' ', "%s is a separate file with the right size, and will be verified (%d bytes to read)", p, v.Size)
		case l.Writes() && l.Rel.Live:
			say('~', "%s is not what the spec wants; a file that is not ours is renamed, not deleted", p)
			say('+', "a name of %s, no second copy", v.source(r.FS))
		case l.Writes():
			say('+', "a name of %s, no second copy", v.source(r.FS))
		}
	}
	return lines
}

// Preflight implements reconcile.Preflighter.
func (Provider) Preflight(_ context.Context, r reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	return provide.Unwritable(r, batch)
}
