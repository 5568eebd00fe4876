package loads

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"sort"
	"time"
)

// Planned is a Tree as it would be: Base with some files and links written, and
// others gone. It must not be changed once it was read.
type Planned struct {
	Base    Tree              // nil: nothing
	Files   map[string][]byte // by absolute path
	Links   map[string]string // likewise, with where they lead to
	Removed []string          // files, links and whole folders of Base

	folders map[string][]fs.DirEntry // those that Files and Links need
}

// index finds the folders that new files lie in.
func (p *Planned) index() {
	if p.folders != nil {
		return
	}
	p.folders = map[string][]fs.DirEntry{"/": nil}
	seen := map[string]bool{}
	add := func(at string, mode fs.FileMode, size int) {
		for {
			dir := path.Dir(at)
			if seen[at] || at == "/" {
				return
			}
			seen[at] = true
			p.folders[dir] = append(p.folders[dir], planned{path.Base(at), mode, int64(size)})
			at, mode, size = dir, fs.ModeDir|0o755, 0
		}
	}
	for f, text := range p.Files {
		add(path.Clean(f), 0o644, len(text))
	}
	for l := range p.Links {
		add(path.Clean(l), fs.ModeSymlink|0o777, 0)
	}
}

// absolute is a name of a Tree as a path.
func absolute(name string) string { return path.Clean("/" + name) }

// gone reports whether Base's p is removed.
func (p *Planned) gone(at string) bool {
	return slices.ContainsFunc(p.Removed, func(r string) bool { return inside(path.Clean(r), at) })
}

// ours is the entry for a path that is written or holds what is.
func (p *Planned) ours(at string) (planned, bool) {
	p.index()
	if text, ok := p.Files[at]; ok {
		return planned{path.Base(at), 0o644, int64(len(text))}, true
	}
	if _, ok := p.Links[at]; ok {
		return planned{path.Base(at), fs.ModeSymlink | 0o777, 0}, true
	}
	if _, ok := p.folders[at]; ok {
		return planned{path.Base(at), fs.ModeDir | 0o755, 0}, true
	}
	return planned{}, false
}

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// Lstat says what lies at name, without following a link there.
func (p *Planned) Lstat(name string) (fs.FileInfo, error) {
	at := absolute(name)
	if e, ok := p.ours(at); ok {
		return e, nil
	}
	if p.Base == nil || p.gone(at) {
		return nil, missing("lstat", name)
	}
	return p.Base.Lstat(name)
}

// ReadLink returns where a link leads to.
func (p *Planned) ReadLink(name string) (string, error) {
	at := absolute(name)
	if to, ok := p.Links[at]; ok {
		return to, nil
	}
	if _, ok := p.ours(at); ok || p.Base == nil || p.gone(at) {
		return "", missing("readlink", name)
	}
	return p.Base.ReadLink(name)
}

// ReadFile returns the text of a file; it follows no link of Files and Links.
func (p *Planned) ReadFile(name string) ([]byte, error) {
	at := absolute(name)
	if text, ok := p.Files[at]; ok {
		return bytes.Clone(text), nil
	}
	if _, ok := p.ours(at); ok || p.Base == nil || p.gone(at) {
		return nil, missing("read", name)
	}
	return p.Base.ReadFile(name)
}

// ReadDir lists a folder, sorted.
func (p *Planned) ReadDir(name string) ([]fs.DirEntry, error) {
	at := absolute(name)
	p.index()
	ours, there := p.folders[at]
	var list []fs.DirEntry
	if p.Base != nil && !p.gone(at) {
		base, err := p.Base.ReadDir(name)
		if err != nil && !(there && errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		for _, e := range base {
			if _, written := p.ours(path.Join(at, e.Name())); !written && !p.gone(path.Join(at, e.Name())) {
				list = append(list, e)
			}
		}
	} else if !there {
		return nil, missing("readdir", name)
	}
	list = append(list, ours...)
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	return list, nil
}

// Open is there because fs.FS asks for it: a Tree is read by its other methods.
func (p *Planned) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}

// planned is a file, link or folder of a Planned.
type planned struct {
	name string
	mode fs.FileMode
	size int64
}

func (e planned) Name() string               { return e.name }
func (e planned) Size() int64                { return e.size }
func (e planned) Mode() fs.FileMode          { return e.mode }
func (e planned) ModTime() time.Time         { return time.Time{} }
func (e planned) IsDir() bool                { return e.mode.IsDir() }
func (e planned) Sys() any                   { return nil }
func (e planned) Type() fs.FileMode          { return e.mode.Type() }
func (e planned) Info() (fs.FileInfo, error) { return e, nil }
