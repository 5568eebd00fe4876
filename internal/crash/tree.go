package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Tree is the content of a folder, by relative path.
type Tree map[string]Node

// Node is one entry of a tree.
type Node struct {
	Mode  fs.FileMode
	Bytes string // of a regular file; of a large one its ends; of a link its target
	Was   string // size, inode and time of the last change: differs after a write

	time  time.Time
	whole string // all bytes of a large file
	inode uint64 // inode of a file with several names
}

// large is the size from which on a file is not read completely: a model, which
// other tests check.
const large = 256 << 10

// Look reads everything below dir, except what skip reports, folders with their
// content. It omits files that disappear meanwhile.
func Look(dir string, skip func(rel string) bool) (Tree, error) {
	return walk(dir, skip, read)
}

// Keep is Look of everything, for Put.
func Keep(dir string) (Tree, error) {
	return walk(dir, nil, func(path string) (Node, error) {
		n, err := read(path)
		if err == nil && n.Mode.IsRegular() {
			var b []byte
			b, err = os.ReadFile(path)
			n.whole = string(b)
		}
		return n, err
	})
}

func was(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.IsDir() {
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprint(info.Size(), st.Ino, info.ModTime().UnixNano())
}

func walk(dir string, skip func(rel string) bool, read func(path string) (Node, error)) (Tree, error) {
	out := Tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if skip != nil && skip(rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		n, err := read(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		out[rel] = n
		return err
	})
	return out, err
}

func read(path string) (Node, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Node{}, err
	}
	n := Node{Mode: info.Mode()}
	n.Was, n.time = was(info), info.ModTime()
	if st, ok := info.Sys().(*syscall.Stat_t); ok && n.Mode.IsRegular() && st.Nlink > 1 {
		n.inode = st.Ino
	}
	switch {
	case n.Mode&fs.ModeSymlink != 0:
		n.Bytes, err = os.Readlink(path)
	case n.Mode.IsRegular() && info.Size() >= large:
		n.Bytes, err = ends(path, info.Size())
	case n.Mode.IsRegular():
		var b []byte
		b, err = os.ReadFile(path)
		n.Bytes = string(b)
	}
	return n, err
}

// ends returns the first and the last bytes of a file, and its size.
func ends(path string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 8192)
	if _, err = f.ReadAt(b[:4096], 0); err == nil {
		_, err = f.ReadAt(b[4096:], size-4096)
	}
	return fmt.Sprintf("%d bytes: %s", size, b), err
}

// Stat is Look without content, for Written.
func Stat(dir string, skip func(rel string) bool) (Tree, error) {
	return walk(dir, skip, func(path string) (Node, error) {
		info, err := os.Lstat(path)
		if err != nil {
			return Node{}, err
		}
		return Node{Mode: info.Mode(), Was: was(info)}, nil
	})
}

// Same reports whether two nodes are equal, apart from the time of a change.
func (n Node) Same(m Node) bool { return n.Mode == m.Mode && n.Bytes == m.Bytes }

// Put makes dir equal to t, from Keep, with file times and hard links.
func (t Tree) Put(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	named := map[uint64]string{}
	for _, rel := range slices.Sorted(maps.Keys(t)) { // a folder precedes its content
		n, at := t[rel], filepath.Join(dir, rel)
		switch {
		case rel == ".":
			continue
		case n.inode != 0 && named[n.inode] != "":
			if err := os.Link(named[n.inode], at); err != nil {
				return err
			}
			continue
		case n.Mode.IsDir():
			err = os.Mkdir(at, n.Mode.Perm())
		case n.Mode&fs.ModeSymlink != 0:
			err = os.Symlink(n.Bytes, at)
		default:
			if err = os.WriteFile(at, []byte(n.whole), n.Mode.Perm()); err == nil {
				err = os.Chtimes(at, n.time, n.time)
			}
			named[n.inode] = at
		}
		if err == nil && n.Mode&fs.ModeSymlink == 0 {
			err = os.Chmod(at, n.Mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Without returns t without the entries that drop reports.
func (t Tree) Without(drop func(rel string) bool) Tree {
	out := Tree{}
	for rel, n := range t {
		if !drop(rel) {
			out[rel] = n
		}
	}
	return out
}

// WithoutEmpty returns t without empty folders.
func (t Tree) WithoutEmpty() Tree {
	holds := map[string]bool{}
	for rel, n := range t {
		if !n.Mode.IsDir() {
			for dir := filepath.Dir(rel); !holds[dir]; dir = filepath.Dir(dir) {
				holds[dir] = true
			}
		}
	}
	return t.Without(func(rel string) bool { return t[rel].Mode.IsDir() && !holds[rel] })
}

// Diff lists the entries in which t differs from want, a line each.
func (t Tree) Diff(want Tree) string {
	var out strings.Builder
	for _, rel := range slices.Sorted(maps.Keys(union(t, want))) {
		is, there := t[rel]
		should, wanted := want[rel]
		switch {
		case !wanted:
			fmt.Fprintf(&out, "  %s (%s) exists, but should not\n", rel, is.Mode)
		case !there:
			fmt.Fprintf(&out, "  %s is missing\n", rel)
		case !is.Same(should):
			fmt.Fprintf(&out, "  %s: %s\n    %q\n    want %s\n    %q\n", rel, is.Mode, brief(is.Bytes), should.Mode, brief(should.Bytes))
		}
	}
	return out.String()
}

// Written lists the entries that were written since before, even with the same
// content.
func (t Tree) Written(before Tree) string {
	out := t.Diff(before)
	for _, rel := range slices.Sorted(maps.Keys(t)) {
		if was, there := before[rel]; there && was.Was != t[rel].Was && was.Same(t[rel]) {
			out += fmt.Sprintf("  %s was written again\n", rel)
		}
	}
	return out
}

// Neither lists the entries of t that equal neither was nor will.
func (t Tree) Neither(was, will Tree) string {
	var out strings.Builder
	for _, rel := range slices.Sorted(maps.Keys(union(t, union(was, will)))) {
		is, there := t[rel]
		old, before := was[rel]
		done, after := will[rel]
		switch {
		case !there && (!before || !after):
		case there && before && is.Same(old), there && after && is.Same(done):
		case !there:
			fmt.Fprintf(&out, "  %s is gone\n", rel)
		case !before && !after:
			fmt.Fprintf(&out, "  %s (%s) exists neither before nor after\n", rel, is.Mode)
		default:
			fmt.Fprintf(&out, "  %s: %s\n    %q\n    was %s\n    %q\n    is to be %s\n    %q\n", rel, is.Mode, brief(is.Bytes), old.Mode, brief(old.Bytes), done.Mode, brief(done.Bytes))
		}
	}
	return out.String()
}

func union(a, b Tree) Tree {
	out := maps.Clone(a)
	for rel, n := range b {
		if _, there := out[rel]; !there {
			out[rel] = n
		}
	}
	return out
}

func brief(text string) string {
	if len(text) > 1500 {
		return text[:1500] + "…"
	}
	return text
}
