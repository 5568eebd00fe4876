package crash

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// Reads are the methods of a fsys.Reader that FailReads can fail.
var Reads = []string{"Lstat", "ReadFile", "Open", "Digest", "ReadDir", "Readlink", "Physical"}

// FailReads returns w with failing reads in and below dir: the named reads, or
// all of them, return err. It simulates a disk or a server that fails for a
// while.
func FailReads(w fsys.FS, dir fsys.LogicalPath, err error, reads ...string) fsys.FS {
	if len(reads) == 0 {
		reads = Reads
	}
	return failing{w, dir, err, reads}
}

type failing struct {
	fsys.FS
	dir   fsys.LogicalPath
	err   error
	reads []string
}

func (a failing) look(name string, p fsys.LogicalPath) error {
	below := p == a.dir || strings.HasPrefix(string(p), strings.TrimSuffix(string(a.dir), "/")+"/") || a.dir == "." && p.Project()
	if !below || !slices.Contains(a.reads, name) {
		return nil
	}
	return &fs.PathError{Op: name, Path: string(p), Err: a.err}
}

func (a failing) Lstat(p fsys.LogicalPath) (fs.FileInfo, error) {
	if err := a.look("Lstat", p); err != nil {
		return nil, err
	}
	return a.FS.Lstat(p)
}

func (a failing) ReadFile(p fsys.LogicalPath) ([]byte, error) {
	if err := a.look("ReadFile", p); err != nil {
		return nil, err
	}
	return a.FS.ReadFile(p)
}

func (a failing) Open(p fsys.LogicalPath) (*os.File, error) {
	if err := a.look("Open", p); err != nil {
		return nil, err
	}
	return a.FS.Open(p)
}

func (a failing) Digest(p fsys.LogicalPath) (string, fs.FileMode, error) {
	if err := a.look("Digest", p); err != nil {
		return "", 0, err
	}
	return a.FS.Digest(p)
}

func (a failing) ReadDir(p fsys.LogicalPath) ([]fs.DirEntry, error) {
	if err := a.look("ReadDir", p); err != nil {
		return nil, err
	}
	return a.FS.ReadDir(p)
}

func (a failing) Readlink(p fsys.LogicalPath) (string, error) {
	if err := a.look("Readlink", p); err != nil {
		return "", err
	}
	return a.FS.Readlink(p)
}

func (a failing) Physical(p fsys.LogicalPath) (string, error) {
	if err := a.look("Physical", p); err != nil {
		return "", err
	}
	return a.FS.Physical(p)
}
