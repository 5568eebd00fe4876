package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/reconcile/fsys"
)

// Own is the name of aisync's own source, unless a spec gives that name to
// another.
const Own = "aisync"

// noVersions are those of aisync's own source, which is not in git.
var noVersions = &versions{history: func() history { return history{} }}

// own is aisync's own source: the bundles of the catalog.
var own = sync.OnceValues(func() (*Tree, error) {
	t := &Tree{Name: Own, Dir: Own + "/", versions: noVersions, embedded: catalog.Bundles()}
	return t, t.open()
})

// A tree lies on disk or in the program. Only the functions below read it.

// at returns the name of a slash path within the tree, and its path on disk if
// the tree is there.
func (t *Tree) at(elem ...string) string {
	if t.embedded != nil {
		return t.Dir + path.Join(elem...)
	}
	return filepath.Join(t.Dir, filepath.FromSlash(path.Join(elem...)))
}

func (t *Tree) readDir(elem ...string) ([]fs.DirEntry, error) {
	if t.embedded != nil {
		return fs.ReadDir(t.embedded, path.Join(append([]string{"."}, elem...)...))
	}
	return os.ReadDir(t.at(elem...))
}

func (t *Tree) stat(src string) (fs.FileInfo, error) {
	if t.embedded != nil {
		return fs.Stat(t.embedded, path.Clean(src))
	}
	return os.Stat(t.at(src))
}

func (t *Tree) lstat(src string) (fs.FileInfo, error) {
	if t.embedded != nil {
		return t.stat(src)
	}
	return os.Lstat(t.at(src))
}

func (t *Tree) readFile(src string) ([]byte, error) {
	if t.embedded != nil {
		return fs.ReadFile(t.embedded, path.Clean(src))
	}
	b, _, err := fsys.ReadSource(t.at(src), nil)
	return b, err
}

// readInto reads a file into buf. An embedded file has no mode: it is
// executable if it has an interpreter line.
func (t *Tree) readInto(src string, buf []byte) ([]byte, fs.FileMode, error) {
	if t.embedded == nil {
		buf, mode, err := fsys.ReadSource(t.at(src), buf)
		if err == nil {
			mode = t.bits.OfSource(t.at(src), buf, mode)
		}
		return buf, mode, err
	}
	text, err := t.readFile(src)
	mode := fs.FileMode(0o644)
	if bytes.HasPrefix(text, []byte("#!")) {
		mode = 0o755
	}
	return append(buf[:0], text...), mode, err
}

// leadsTo returns the path of src, links resolved, and whether that is within
// the tree. A missing path counts as within.
func (t *Tree) leadsTo(src string) (real string, inside bool, err error) {
	if t.embedded != nil {
		return "", true, nil
	}
	real, err = filepath.EvalSymlinks(t.at(src))
	if err != nil {
		if _, lerr := t.lstat(src); errors.Is(lerr, fs.ErrNotExist) {
			return "", true, nil
		}
		if _, serr := t.stat(src); errors.Is(serr, syscall.ELOOP) {
			err = fmt.Errorf("%s is a link in a circle of links; remove one of them", t.at(src))
		} else if target, lerr := os.Readlink(t.at(src)); lerr == nil && errors.Is(serr, fs.ErrNotExist) {
			err = fmt.Errorf("%s is a dangling link, to %s: %w; create its target, or remove the link", t.at(src), target, fs.ErrNotExist)
		}
		return "", false, err
	}
	rel, err := filepath.Rel(t.real, real)
	return real, err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)), nil
}

// ownHas returns aisync's own source if ref means it: by its name, or by a bare
// name that it has.
func ownHas(kind Kind, source, name string) (*Tree, bool) {
	t, err := own()
	if err != nil || source != "" && source != Own {
		return nil, false
	}
	return t, source == Own || slices.Contains(namesOf(t, kind), name)
}
