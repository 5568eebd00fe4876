package main

import (
	"fmt"
	"io/fs"
	"os"

	"aisync.dev/aisync/reconcile/fsys"
)

// reader is the file system of a command that only looks.
func (p places) reader(tag string) (fsys.Reader, error) {
	o := p.fsOptions(tag)
	if p.newRoot {
		o.Root = ""
	}
	disk, err := fsys.New(o)
	if err != nil {
		return nil, err
	}
	if p.newRoot {
		return emptyMachine{fsys.ReadOnly(disk), p}, nil
	}
	return fsys.ReadOnly(disk), nil
}

// sayNewRoot keeps a typo in --root from passing for a new machine.
func (a *app) sayNewRoot(p places) {
	if p.newRoot {
		a.say("aisync: --root %s is not there yet: seen as an empty machine", safe(p.root))
	}
}

// makeRoot makes the folder of --root for an apply; other commands that write
// have nothing to do on a machine that is not there.
func (a *app) makeRoot(p places, command string) error {
	if !p.newRoot {
		return nil
	}
	if command != "aisync apply" {
		return fmt.Errorf("--root: %w", missing(p.root))
	}
	if err := os.MkdirAll(p.root, 0o755); err != nil {
		return fmt.Errorf("--root: %w", err)
	}
	a.say("aisync: made the root folder %s", safe(p.root))
	return nil
}

// emptyMachine reads the project as it is, and nothing of a host whose root is
// not there yet.
type emptyMachine struct {
	fsys.Reader
	places places
}

func (m emptyMachine) none(op string, p fsys.LogicalPath) error {
	return &fs.PathError{Op: op, Path: m.places.physical(p), Err: fs.ErrNotExist}
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
	return m.places.physical(p), nil
}

func (m emptyMachine) Writable(p fsys.LogicalPath) error {
	if p.Project() {
		return m.Reader.Writable(p)
	}
	return m.Reader.Writable(fsys.LogicalPath(m.places.physical(p)))
}
