// Package store keeps models: each file once, under its sha256, with names
// beside it that people and programs know (views). It never dials, shows no
// unverified byte, and deletes only in GC. Start reading at Blob and Held, then
// place.go.
package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/reconcile/fsys"
)

// Folders of a store that hold no views.
const (
	blobs = "sha256"
	parts = "tmp"

	oldParts = ".partial" // of an earlier layout
)

// Blob is the path of the bytes with that sha256 in the store dir.
func Blob(dir fsys.LogicalPath, sha256 string) fsys.LogicalPath {
	hex := strings.ToLower(sha256)
	return dir.Join(blobs, hex[:min(2, len(hex))], hex)
}

// Part is the path of their download; its journal is Part + ".journal".
func Part(dir fsys.LogicalPath, sha256 string) fsys.LogicalPath {
	return dir.Join(parts, strings.ToLower(sha256)+".part")
}

// Friendly is the view that every model has. repo is the Hugging Face
// repository, owner/name, or "" for a model from elsewhere.
func Friendly(dir fsys.LogicalPath, id, repo, file string) fsys.LogicalPath {
	owner, name, ok := strings.Cut(repo, "/")
	switch {
	case !ok || owner == blobs || owner == parts || strings.HasPrefix(owner, ".") || strings.HasPrefix(name, "."):
		return dir.Join("local", id, path.Base(file))
	}
	return dir.Join(owner, name, path.Base(file))
}

// Old is the path of the file in an earlier layout.
func Old(dir fsys.LogicalPath, id, file string) fsys.LogicalPath {
	return dir.Join(id, path.Base(file))
}

// Held is one file of a model that a spec wants or a record knows.
type Held struct {
	ID, Quant, License string

	SHA256   string // "" if it is not pinned
	Size     int64  // bytes
	Path     fsys.LogicalPath
	Views    []fsys.LogicalPath // further names, in other programs' folders
	Verified time.Time          // zero: never
	Stat     Stat               // of the verified file; zero if none was verified
	From     string             // the source that served it, "" if none did
	Wanted   bool               // by a spec; otherwise only a record knows it
}

// Stat identifies a file, and its content as of a certain write. It leaves out
// the change time, which every new name of the file renews.
type Stat struct {
	Size    int64  `json:"size"`
	MtimeNS int64  `json:"mtime_ns"`
	Inode   uint64 `json:"inode"`
}

// StatOf is the Stat of the file behind info.
func StatOf(info fs.FileInfo) Stat {
	s := Stat{Size: info.Size(), MtimeNS: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*unix.Stat_t); ok {
		s.Inode = st.Ino
	}
	return s
}

// Of reports whether s describes the file behind info.
func (s Stat) Of(info fs.FileInfo) bool {
	return s != Stat{} && info != nil && info.Mode().IsRegular() && StatOf(info) == s
}

// owner is the user who owns the file behind info.
func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*unix.Stat_t); ok {
		return int(st.Uid)
	}
	return os.Geteuid()
}

// folderMode is the mode of the store's folder; 0 if it does not exist yet.
func folderMode(r fsys.Reader, dir fsys.LogicalPath) fs.FileMode {
	at, err := r.Physical(dir.Join(blobs)) // resolves dir itself, where that is a link
	if err != nil {
		return 0
	}
	info, err := os.Stat(filepath.Dir(at))
	if err != nil {
		return 0
	}
	return info.Mode()
}

// BlobMode is the mode of a finished file in the store dir: readable by those
// who may enter the store, writable by none.
func BlobMode(r fsys.Reader, dir fsys.LogicalPath) fs.FileMode {
	if m := folderMode(r, dir); m != 0 && m&0o001 == 0 {
		return 0o440
	}
	return 0o444
}

// MakeDir makes the folder p, inside or outside the store dir. If a group
// shares the store, new folders belong to the group as well. A failure leaves
// none of them.
func MakeDir(w fsys.FS, dir, p fsys.LogicalPath) ([]fsys.LogicalPath, error) {
	shared := folderMode(w, dir)
	made, err := w.MkdirAll(p, 0o755)
	if err == nil && shared&0o020 != 0 && within(dir, p) {
		for _, d := range made {
			err = errors.Join(err, w.Chmod(d, shared.Perm()|shared&fs.ModeSetgid))
		}
	}
	if err != nil {
		Tidy(w, made)
		return nil, err
	}
	return made, nil
}

func within(dir, p fsys.LogicalPath) bool {
	return strings.HasPrefix(string(p), strings.TrimSuffix(string(dir), "/")+"/")
}
