package loads

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// What ends a walk through links and folders that do not end.
const (
	maxLinks  = 40     // in one path, as Linux has it
	maxListed = 100000 // files and folders in one place
)

var errCircle = errors.New("links lead in a circle")

// files reads a Tree by absolute paths, and resolves links.
type files struct {
	tree Tree
	real map[string]string // folders without links in their path
}

func newFiles(t Tree) *files { return &files{t, map[string]string{"/": "/"}} }

// name is a path as a Tree has it.
func name(p string) string {
	if p == "/" {
		return "."
	}
	return strings.TrimPrefix(p, "/")
}

// resolve follows all links of p, and says what lies there.
func (f *files) resolve(p string) (string, fs.FileMode, error) {
	links := 0
	return f.follow(path.Clean(p), &links)
}

func (f *files) follow(p string, links *int) (string, fs.FileMode, error) {
	if p == "/" {
		return p, fs.ModeDir, nil
	}
	dir, err := f.folder(path.Dir(p), links)
	if err != nil {
		return "", 0, err
	}
	at := path.Join(dir, path.Base(p))
	info, err := f.tree.Lstat(name(at))
	if err != nil {
		return "", 0, err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return at, info.Mode(), nil
	}
	if *links++; *links > maxLinks {
		return "", 0, errCircle
	}
	to, err := f.tree.ReadLink(name(at))
	if err != nil {
		return "", 0, err
	}
	if !path.IsAbs(to) {
		// A folder's .. is that of where it really lies.
		if to, err = f.join(dir, to, links); err != nil {
			return "", 0, err
		}
	}
	return f.follow(path.Clean(to), links)
}

// join is the target of a relative link that lies in dir, which has no links in
// its path. Steps up from a folder behind a link start where that leads to.
func (f *files) join(dir, to string, links *int) (string, error) {
	parts := strings.Split(to, "/")
	for i, part := range parts[:len(parts)-1] {
		if part == ".." || part == "." || part == "" {
			dir = path.Join(dir, part)
			continue
		}
		if !slices.Contains(parts[i:], "..") {
			return path.Join(dir, path.Join(parts[i:]...)), nil
		}
		next, err := f.folder(path.Join(dir, part), links)
		if err != nil {
			return "", err
		}
		dir = next
	}
	return path.Join(dir, parts[len(parts)-1]), nil
}

// folder resolves a folder, and remembers it.
func (f *files) folder(p string, links *int) (string, error) {
	if real, ok := f.real[p]; ok {
		return real, nil
	}
	real, mode, err := f.follow(p, links)
	if err != nil {
		return "", err
	}
	if !mode.IsDir() {
		return "", &fs.PathError{Op: "open", Path: p, Err: errors.New("not a folder")}
	}
	f.real[p] = real
	return real, nil
}

func (f *files) exists(p string) bool {
	_, _, err := f.resolve(p)
	return err == nil
}

func (f *files) isLink(p string) bool {
	real, _, err := f.resolve(path.Dir(p))
	if err != nil {
		return false
	}
	info, err := f.tree.Lstat(name(path.Join(real, path.Base(p))))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// read returns the text at p, and where it really lies.
func (f *files) read(p string) (text []byte, real string, err error) {
	real, mode, err := f.resolve(p)
	if err != nil {
		return nil, "", err
	}
	if !mode.IsRegular() {
		return nil, "", fs.ErrNotExist
	}
	text, err = f.tree.ReadFile(name(real))
	return text, real, err
}

// match returns the files below dir that pattern names, sorted. A pattern
// without wildcards names one path, whether it is there or leads nowhere.
func (f *files) match(dir, pattern string) []string {
	base, rest := doublestar.SplitPattern(pattern)
	if !strings.ContainsAny(pattern, "*?[{\\") {
		p := path.Join(dir, pattern)
		if real, err := f.folder(path.Dir(p), new(int)); err == nil {
			if info, err := f.tree.Lstat(name(path.Join(real, path.Base(p)))); err == nil && !info.IsDir() {
				return []string{p}
			}
		}
		return nil
	}
	var out []string
	left := maxListed
	f.list(path.Join(dir, base), "", !strings.Contains(rest, "/") && !strings.Contains(rest, "**"), nil, &left, func(rel string) {
		if ok, _ := doublestar.Match(rest, rel); ok {
			out = append(out, path.Join(dir, base, rel))
		}
	})
	slices.Sort(out)
	return out
}

// list calls fn with every file below dir, at most left of them; a folder in
// which it is already, by a link, it does not enter again.
func (f *files) list(dir, rel string, flat bool, inside []string, left *int, fn func(rel string)) {
	real, err := f.folder(path.Join(dir, rel), new(int))
	if err != nil || slices.Contains(inside, real) || len(inside) > maxLinks {
		return
	}
	entries, err := f.tree.ReadDir(name(real))
	if err != nil {
		return
	}
	inside = append(inside, real)
	for _, e := range entries {
		if *left--; *left < 0 {
			return
		}
		at := path.Join(rel, e.Name())
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			_, mode, err := f.resolve(path.Join(dir, at))
			isDir = err == nil && mode.IsDir()
		}
		switch {
		case !isDir:
			fn(at)
		case !flat:
			f.list(dir, at, flat, slices.Clip(inside), left, fn)
		}
	}
}
