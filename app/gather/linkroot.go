package gather

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxLinks is how many links one path may go through, as in Linux.
const maxLinks = 40

// linkRoot reads a folder. Unlike os.Root it also follows an absolute link, and a
// link that climbs above the folder and returns, if all of them lead to entries
// in the folder that belong to the link's owner.
type linkRoot struct {
	root  *os.Root
	names []string // absolute paths of the folder, as links may spell it
}

// linkError is a link that linkRoot does not follow.
type linkError struct {
	at  string // the link, as a part of the path that was asked for
	why string
}

func (e *linkError) Error() string { return e.at + " is " + e.why }

// element is one name of a path, and the part of the requested path that led to
// it.
type element struct{ name, asked string }

func elementsOf(p, asked string) (out []element) {
	for name := range strings.SplitSeq(p, "/") {
		if name != "" && name != "." {
			out = append(out, element{name, asked})
		}
	}
	return out
}

// resolve returns the place of name in the folder with its links followed; with
// last, also a link that is name itself. The error for a link that is not
// followed is a *linkError.
func (t linkRoot) resolve(name string, last bool) (string, error) {
	todo := elementsOf(name, "")
	for i, asked := 0, ""; i < len(todo); i++ {
		asked = path.Join(asked, todo[i].name)
		todo[i].asked = asked
	}
	var done []string
	var link struct { // the first of the links that the current element comes from
		asked, target string
		owner         uint32
	}
	for links := 0; len(todo) > 0; {
		e := todo[0]
		todo = todo[1:]
		if e.name == ".." && len(done) > 0 {
			done = done[:len(done)-1]
			continue
		}
		if e.name == ".." { // above the folder; its rest may lead back
			up := filepath.Dir(t.root.Name())
			for len(todo) > 0 && todo[0].asked == e.asked {
				up, todo = filepath.Join(up, todo[0].name), todo[1:]
			}
			rel, ok := t.below(up)
			if !ok {
				return "", &linkError{link.asked, leadsOut(link.target)}
			}
			todo = append(elementsOf(rel, e.asked), todo...)
			continue
		}
		at := path.Join(append(slices.Clip(done), e.name)...)
		info, err := t.root.Lstat(at)
		switch {
		case err != nil && e.asked == link.asked && errors.Is(err, fs.ErrNotExist):
			return "", &linkError{link.asked, "a dangling link, to " + link.target}
		case err != nil:
			return "", err
		case link.asked != "" && ownerOf(info) != link.owner:
			return "", &linkError{link.asked, "a link to " + link.target + ", which belongs to another user"}
		case info.Mode()&fs.ModeSymlink == 0, len(todo) == 0 && !last && e.asked != link.asked:
			done = append(done, e.name)
			continue
		}
		target, err := t.root.Readlink(at)
		if err != nil {
			return "", err
		}
		if e.asked != link.asked {
			link.asked, link.target, link.owner = e.asked, target, ownerOf(info)
		}
		if links++; links > maxLinks {
			return "", &linkError{link.asked, "a link to " + link.target + ", in a circle of links"}
		}
		if path.IsAbs(target) {
			rel, ok := t.below(target)
			if !ok {
				return "", &linkError{link.asked, leadsOut(target)}
			}
			done, target = nil, rel
		}
		todo = append(elementsOf(target, e.asked), todo...)
	}
	return path.Join(append([]string{"."}, done...)...), nil
}

// below returns the path within the folder of an absolute path.
func (t linkRoot) below(abs string) (string, bool) {
	for _, name := range append([]string{t.root.Name()}, t.names...) {
		if rel, err := filepath.Rel(name, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// leadsOut describes a link out of the folder. What a package manager such as
// Nix put into place is read-only: it is changed where it is made.
func leadsOut(target string) string {
	info, err := os.Stat(target)
	switch {
	case strings.HasPrefix(target, "/nix/store/"),
		filepath.IsAbs(target) && err == nil && (info.Mode()&0o222 == 0 || ownerOf(info) != uint32(os.Geteuid())):
		return "a link to " + target + ", which is read-only; change it where it is made, such as in the Nix configuration"
	}
	return "a link to " + target + ", which is not in this folder"
}

// Lstat describes name, not following it if it is a link.
func (t linkRoot) Lstat(name string) (fs.FileInfo, error) {
	at, err := t.resolve(name, false)
	if err != nil {
		return nil, err
	}
	return t.root.Lstat(at)
}

// Stat describes name, or what it leads to.
func (t linkRoot) Stat(name string) (fs.FileInfo, error) {
	at, err := t.resolve(name, true)
	if err != nil {
		return nil, err
	}
	return t.root.Lstat(at)
}

// ReadFile reads the file name, or the one that it leads to.
func (t linkRoot) ReadFile(name string) ([]byte, error) {
	at, err := t.resolve(name, true)
	if err != nil {
		return nil, err
	}
	return t.root.ReadFile(at)
}

// ReadDir lists the folder name, or the one that it leads to, sorted.
func (t linkRoot) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := t.resolve(name, true)
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(t.root.FS(), at)
}

func ownerOf(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return uint32(os.Geteuid())
}
