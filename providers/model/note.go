package model

import (
	"encoding/json"
	"io/fs"
	"time"

	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// note is LeafRecord.Private: which bytes were verified where, and the stat by
// which they are known again.
type note struct {
	Store      fsys.LogicalPath `json:"store,omitempty"` // "": by a version that kept the file under its name
	Path       fsys.LogicalPath `json:"path"`
	SHA256     string           `json:"sha256"`
	store.Stat                  // of the file that was verified: the blob, or what is under the name
	How        store.How        `json:"how,omitempty"`   // what the name is
	Clone      store.Stat       `json:"clone,omitzero"`  // of the name, where it is a file of its own
	Aside      fsys.LogicalPath `json:"aside,omitempty"` // what was renamed to make place
	Verified   time.Time        `json:"verified,omitzero"`
}

func noteOf(l *reconcile.LeafRecord) note {
	var n note
	if l != nil {
		_ = json.Unmarshal(l.Private, &n) // unreadable: the file is verified again
	}
	return n
}

// blob is where the bytes lie, "" where they only ever lay under the name.
func (n note) blob() fsys.LogicalPath {
	if n.Store == "" || n.SHA256 == "" {
		return ""
	}
	return store.Blob(n.Store, n.SHA256)
}

// intact reports whether what was seen at a name still holds the bytes that
// were verified.
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

// foretold reports whether a name that was seen is of the blob of which n was
// noted before it was there, and which this user has verified since.
func (n note) foretold(r fsys.Reader, s store.Seen) bool {
	return n.Stat == store.Stat{} && n.blob() != "" && (s.How == store.HardLink || s.How == store.Symlink) && store.Marked(r, n.Store, n.SHA256, s.Blob)
}

func (n note) fingerprint() reconcile.Fingerprint { return fingerprint(n.SHA256, n.Path) }

func (n note) raw() json.RawMessage {
	b, _ := json.Marshal(n) // plain fields: cannot fail
	return b
}

// noteOn is what to note of a, whose bytes have been verified: of the name as
// it was seen, and of the file that holds them.
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
