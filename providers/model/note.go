package model

import (
	"encoding/json"
	"io/fs"
	"time"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// note is LeafRecord.Private: which bytes were verified where, and the stat
// that identifies them.
type note struct {
	Store      fsys.LogicalPath `json:"store,omitempty"` // "": recorded by a version that kept the file under its name
	Path       fsys.LogicalPath `json:"path"`
	SHA256     string           `json:"sha256"`
	store.Stat                  // of the verified file: the blob, or the file under the name
	How        store.How        `json:"how,omitempty"`   // kind of the name
	Clone      store.Stat       `json:"clone,omitzero"`  // of the name, if it is a separate file
	Aside      fsys.LogicalPath `json:"aside,omitempty"` // what was renamed to make place
	From       string           `json:"from,omitempty"`  // source that served the bytes last
	Verified   time.Time        `json:"verified,omitzero"`
}

func noteOf(l *reconcile.LeafRecord) note {
	var n note
	if l != nil {
		_ = json.Unmarshal(l.Private, &n) // unreadable: the file is verified again
	}
	return n
}

// blob is the place of the bytes, "" if they only ever lay under the name.
func (n note) blob() fsys.LogicalPath {
	if n.Store == "" || n.SHA256 == "" {
		return ""
	}
	return store.Blob(n.Store, n.SHA256)
}

// intact reports whether the name s still shows the verified bytes.
func (n note) intact(s store.Seen) bool {
	if n.SHA256 == "" {
		return false
	}
	switch s.How {
	case store.HardLink, store.Symlink:
		return n.Stat.Of(s.Blob)
	case store.File:
		return n.Stat.Of(s.Info) || n.Clone.Of(s.Info)
	}
	return false
}

// foretold reports whether the name s shows the blob that n was written for
// before the name existed, and that this user has verified since.
func (n note) foretold(r fsys.Reader, s store.Seen) bool {
	return n.Stat == store.Stat{} && n.blob() != "" && (s.How == store.HardLink || s.How == store.Symlink) && store.Marked(r, n.Store, n.SHA256, s.Blob)
}

func (n note) fingerprint() reconcile.Fingerprint { return fingerprint(n.SHA256, n.Path) }

func (n note) raw() json.RawMessage {
	b, _ := json.Marshal(n) // plain fields: cannot fail
	return b
}

// noteOn returns the note of a after its verification: of the name s, and of
// the file that holds the bytes.
func noteOn(a Artifact, s store.Seen, bytes fs.FileInfo, aside fsys.LogicalPath, at time.Time) note {
	n := note{Store: a.Store, Path: a.Path, SHA256: lower(a.SHA256), Stat: store.StatOf(bytes), How: s.How, Aside: aside, Verified: at}
	if s.How == store.File {
		n.Clone = store.StatOf(s.Info)
		if s.Blob != nil {
			n.How = store.RefLink
		}
	}
	return n
}

func clock(r reconcile.ReadEnv) time.Time {
	if r.Clock == nil {
		return time.Time{}
	}
	return r.Clock().UTC().Truncate(time.Second)
}
