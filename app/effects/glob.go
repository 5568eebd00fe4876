package effects

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxEntries bounds the files and folders that one pattern examines.
const maxEntries = 20_000

// found is the result of a pattern.
type found struct {
	names []string
	all   bool // nothing was left out
}

// glob returns the files that match pattern, sorted: present ones and those
// that the plan makes. all is false if there are too many to examine.
func (t *tree) glob(pattern string) (names []string, all bool) {
	if !strings.ContainsAny(pattern, "*?[{\\") {
		return []string{path.Clean(pattern)}, true // reading it tells whether it exists
	}
	f, ok := t.found[pattern]
	if !ok {
		f.names, f.all = t.search(pattern)
		t.found[pattern] = f
	}
	return f.names, f.all
}

// search is glob for a pattern without a cached result.
func (t *tree) search(pattern string) (names []string, all bool) {
	w := walk{t: t, seen: map[string]bool{}}
	w.match("", strings.Split(pattern, "/"))
	fixed, _ := doublestar.SplitPattern(pattern)
	for _, name := range append(t.below(fixed), fixed) {
		a, ok := t.after[name]
		if ok {
			ok, _ = doublestar.Match(pattern, name)
		}
		if ok && !(a.change.Writes() && t.outcome(a).gone) {
			w.found = append(w.found, name)
		}
	}
	w.found = append(w.found, t.aliased(pattern)...)
	slices.Sort(w.found)
	return slices.Compact(w.found), w.looked <= maxEntries
}

// below returns the names of the plan below dir, sorted.
func (t *tree) below(dir string) []string {
	if dir == "." {
		return slices.Clip(t.names)
	}
	from, _ := slices.BinarySearch(t.names, dir+"/")
	to, _ := slices.BinarySearch(t.names, dir+"0") // the character after /
	return t.names[from:to:to]
}

// walk finds the files of a pattern. It follows links to folders, as programs
// do, and visits no folder twice.
type walk struct {
	t      *tree
	found  []string
	links  []string
	seen   map[string]bool // folders that ** visited, links resolved
	looked int
}

// walked is a walk of everything in dir.
func (t *tree) walked(dir string) *walk {
	w := &walk{t: t, seen: map[string]bool{}}
	w.match(dir, []string{"**"})
	return w
}

// match finds the files in dir that match the rest of a pattern.
func (w *walk) match(dir string, rest []string) {
	name, last := rest[0], len(rest) == 1
	switch {
	case name == "**":
		if !last {
			w.match(dir, rest[1:])
		}
		real, err := filepath.EvalSymlinks(w.t.path(dir))
		if err != nil || w.seen[real] {
			return
		}
		w.seen[real] = true
		for _, e := range w.entries(dir) {
			at := path.Join(dir, e.Name())
			if e.Type()&fs.ModeSymlink != 0 {
				w.links = append(w.links, at)
			}
			if w.isDir(at, e) {
				if !leftOut(e.Name()) {
					w.match(at, rest)
				}
			} else if last {
				w.found = append(w.found, at)
			}
		}
	case strings.ContainsAny(name, "*?[{\\"):
		for _, e := range w.entries(dir) {
			if ok, _ := doublestar.Match(name, e.Name()); !ok {
				continue
			}
			at := path.Join(dir, e.Name())
			switch isDir := w.isDir(at, e); {
			case isDir && !last:
				w.match(at, rest[1:])
			case !isDir && last:
				w.found = append(w.found, at)
			}
		}
	case last:
		w.found = append(w.found, path.Join(dir, name)) // reading it tells whether it exists
	default:
		w.match(path.Join(dir, name), rest[1:])
	}
}

// entries lists a folder; none once too many entries were examined.
func (w *walk) entries(dir string) []fs.DirEntry {
	if w.looked > maxEntries {
		return nil
	}
	entries, err := os.ReadDir(w.t.path(dir))
	if err != nil {
		return nil // a program cannot read it either
	}
	w.looked += len(entries)
	return entries
}

func (w *walk) isDir(name string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(w.t.path(name))
	return err == nil && info.IsDir()
}

// path is the place of name on disk.
func (t *tree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// leftOut reports whether no program looks into a folder: git's, or one of
// packages.
func leftOut(name string) bool { return name == ".git" || name == "node_modules" }
