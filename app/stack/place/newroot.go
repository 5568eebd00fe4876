package place

import (
	"io/fs"
	"os"

	"aisync.dev/aisync/reconcile/fsys"
)

// Reader is the file system of a command that only reads; tag becomes part of
// the names of temp files, of which it makes none.
func (p Places) Reader(tag string) (fsys.Reader, error) {
	o := p.FSOptions(tag)
	if p.NewRoot {
		o.Root = ""
	}
	disk, err := fsys.New(o)
	if err != nil {
		return nil, err
	}
	if p.NewRoot {
		return emptyMachine{fsys.ReadOnly(disk), p}, nil
	}
	return fsys.ReadOnly(disk), nil
}

// emptyMachine reads the project, and nothing of a host whose root does not
// exist yet.
type emptyMachine struct {
	fsys.Reader
	places Places
}

func (m emptyMachine) none(op string, p fsys.LogicalPath) error {
	return &fs.PathError{Op: op, Path: m.places.Physical(p), Err: fs.ErrNotExist}
}

func (m emptyMachine) Lstat(p fsys.LogicalPath) (fs.FileInfo, error) {
	if p.Project() {
		return m.Reader.Lstat(p)
	}
	return nil, m.none("lstat", p)
}

func (m emptyMachine) ReadFile(p fsys.LogicalPath) ([]byte, error) {
	if p.Project() {
		return m.Reader.ReadFile(p)
	}
	return nil, m.none("open", p)
}

func (m emptyMachine) Open(p fsys.LogicalPath) (*os.File, error) {
	if p.Project() {
		return m.Reader.Open(p)
	}
	return nil, m.none("open", p)
}

func (m emptyMachine) Digest(p fsys.LogicalPath) (string, fs.FileMode, error) {
	if p.Project() {
		return m.Reader.Digest(p)
	}
	return "", 0, m.none("open", p)
}

func (m emptyMachine) ReadDir(p fsys.LogicalPath) ([]fs.DirEntry, error) {
	if p.Project() {
		return m.Reader.ReadDir(p)
	}
	return nil, m.none("open", p)
}

func (m emptyMachine) Readlink(p fsys.LogicalPath) (string, error) {
	if p.Project() {
		return m.Reader.Readlink(p)
	}
	return "", m.none("readlink", p)
}

func (m emptyMachine) Physical(p fsys.LogicalPath) (string, error) {
	if p.Project() {
		return m.Reader.Physical(p)
	}
	return m.places.Physical(p), nil
}

func (m emptyMachine) Writable(p fsys.LogicalPath) error {
	if p.Project() {
		return m.Reader.Writable(p)
	}
	return m.Reader.Writable(fsys.LogicalPath(m.places.Physical(p)))
}
