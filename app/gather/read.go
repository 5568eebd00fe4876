package gather

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// read returns a file below the folder; ok is false if there is none. It
// follows a link within the folder; a link out of it is left alone.
func (g *gatherer) read(name string) (content []byte, mode fs.FileMode, ok bool) {
	link, err := g.root.Lstat(name)
	if err != nil {
		g.fail(err)
		return nil, 0, false
	}
	info, err := g.root.Stat(name)
	switch {
	case err != nil && link.Mode()&fs.ModeSymlink != 0:
		g.keep(name, "a link that is absolute, dangling, or leads out of the folder")
		return nil, 0, false
	case err != nil:
		g.fail(err)
		return nil, 0, false
	case !info.Mode().IsRegular():
		return nil, 0, false
	}
	content, err = g.root.ReadFile(name)
	if err != nil {
		g.fail(err)
		return nil, 0, false
	}
	mode = 0o644
	if g.bits.OfSource(filepath.Join(g.root.Name(), name), content, info.Mode())&0o100 != 0 {
		mode = 0o755
	}
	return content, mode, true
}

// fail keeps the first error that is not about a missing file. A folder behind
// a link out of the folder is reported once.
func (g *gatherer) fail(err error) {
	var at *fs.PathError
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
	case errors.As(err, &at) && strings.Contains(err.Error(), "escapes from parent"): // os.Root has no sentinel for it
		top, _, _ := strings.Cut(at.Path, "/")
		if !slices.ContainsFunc(g.out.Kept, func(k Kept) bool { return k.Path == top }) {
			g.keep(top, "a link that is absolute, or leads out of the folder")
		}
	case g.err == nil:
		g.err = err
	}
}

func (g *gatherer) isLink(name string) bool {
	info, err := g.root.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func (g *gatherer) isFile(name string) bool {
	info, err := g.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// entries lists a folder, sorted; none if it does not exist.
func (g *gatherer) entries(dir string) []fs.DirEntry {
	list, err := fs.ReadDir(g.root.FS(), dir)
	g.fail(err)
	return list
}

// walk lists the files below dir by relative path, sorted. It leaves out linked
// folders, with a note, and .git, __pycache__ and node_modules.
func (g *gatherer) walk(dir string) []string {
	var out []string
	var in func(rel string)
	in = func(rel string) {
		for _, e := range g.entries(path.Join(dir, rel)) {
			sub := path.Join(rel, e.Name())
			at := path.Join(dir, sub)
			switch {
			case e.IsDir() && slices.Contains([]string{".git", "__pycache__", "node_modules"}, e.Name()):
			case e.IsDir():
				in(sub)
			case g.isLink(at) && !g.isFile(at):
				g.keep(at, "a link to a folder, or one that is absolute or leads out")
			default:
				out = append(out, sub)
			}
		}
	}
	if info, err := g.root.Lstat(dir); err == nil && info.IsDir() {
		in("")
	} else if err == nil {
		g.keep(dir, "a link, or not a folder")
	}
	return out
}

// rest reports the entries of dir that are not among known, without looking
// into them.
func (g *gatherer) rest(dir string, known ...string) {
	for _, e := range g.entries(dir) {
		if !slices.Contains(known, e.Name()) {
			g.keep(path.Join(dir, e.Name()), "aisync has no place for it")
		}
	}
}

// copyFile puts a file into the bundle unchanged.
func (g *gatherer) copyFile(what, from, to, note string) bool {
	content, mode, ok := g.read(from)
	if !ok {
		return false
	}
	if !g.put(to, content, mode) {
		g.keep(from, "the bundle has another "+path.Base(to)+" already")
		return false
	}
	g.took(what, from, to, note)
	return true
}

// copyFolder puts all files below a folder into the bundle unchanged.
func (g *gatherer) copyFolder(what, from, to, note string) {
	for _, rel := range g.walk(from) {
		g.copyFile(what, path.Join(from, rel), path.Join(to, rel), note)
	}
}

// withSuffix reports whether name has one of the suffixes, and returns the part
// before it.
func withSuffix(name string, suffixes ...string) (string, bool) {
	for _, s := range suffixes {
		if base, ok := strings.CutSuffix(name, s); ok && base != "" {
			return base, true
		}
	}
	return "", false
}
