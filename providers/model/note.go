package model

import (
	"encoding/json"
	"io/fs"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// note is LeafRecord.Private: which bytes were verified where, and the stat by
// which an unchanged file is known. The change time cannot be set by anybody,
// so a file with the same stat has the same bytes.
type note struct {
	Path    fsys.LogicalPath `json:"path"`
	SHA256  string           `json:"sha256"`
	Size    int64            `json:"size"`
	MtimeNS int64            `json:"mtime_ns"`
	CtimeNS int64            `json:"ctime_ns"`
	Inode   uint64           `json:"inode"`
	Aside   fsys.LogicalPath `json:"aside,omitempty"` // what was renamed to make place
}

func noteOf(l *reconcile.LeafRecord) note {
	var n note
	if l != nil {
		_ = json.Unmarshal(l.Private, &n) // unreadable: the file is verified again
	}
	return n
}

// noteAt notes that the file behind info holds sha256.
func noteAt(p fsys.LogicalPath, sha256 string, info fs.FileInfo) note {
	n := note{Path: p, SHA256: sha256, Size: info.Size(), MtimeNS: info.ModTime().UnixNano(), CtimeNS: fsys.ChangeTime(info).UnixNano()}
	if st, ok := info.Sys().(*unix.Stat_t); ok {
		n.Inode = st.Ino
	}
	return n
}

// intact reports whether the file behind info is the one that was verified.
func (n note) intact(p fsys.LogicalPath, info fs.FileInfo) bool {
	now := noteAt(p, n.SHA256, info)
	now.Aside = n.Aside
	return n.SHA256 != "" && now == n
}

func (n note) fingerprint() reconcile.Fingerprint { return fingerprint(n.SHA256, n.Path) }

func (n note) raw() json.RawMessage {
	b, _ := json.Marshal(n) // plain fields: cannot fail
	return b
}
