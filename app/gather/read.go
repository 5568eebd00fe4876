package gather

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// readAny returns a file below the folder; ok is false if there is none. It
// follows links as linkRoot does, and keeps aside one that it does not follow, and
// a name that no record can hold.
func (g *gatherer) readAny(name string) (content []byte, mode fs.FileMode, ok bool) {
	at, err := g.root.resolve(name, true)
	if err != nil {
		g.fail(err)
		return nil, 0, false
	}
	info, err := g.root.root.Lstat(at)
	if err != nil {
		g.fail(err)
		return nil, 0, false
	}
	if !utf8.ValidString(name) {
		g.keepOnce(name, "its name is not UTF-8: rename it, then run: aisync import")
		return nil, 0, false
	}
	if !info.Mode().IsRegular() {
		return nil, 0, false
	}
	content, err = g.root.root.ReadFile(at)
	if err != nil {
		g.fail(err)
		return nil, 0, false
	}
	mode = 0o644
	if g.bits.OfSource(filepath.Join(g.root.root.Name(), at), content, info.Mode())&0o100 != 0 {
		mode = 0o755
	}
	return content, mode, true
}

// fail keeps the first error that is not about a missing file. A link that is
// not followed is kept aside once.
func (g *gatherer) fail(err error) {
	var link *linkError
	var at *fs.PathError
	switch {
	case err == nil:
	case errors.As(err, &link):
		g.keepOnce(link.at, link.why)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
	case errors.As(err, &at) && errors.Is(err, fs.ErrPermission):
		g.keepOnce(at.Path, "you may not read it")
	case g.err == nil:
		g.err = err
	}
}

// keepOnce keeps p aside unless it is already: a file is read more than once.
func (g *gatherer) keepOnce(p, why string) {
	if !slices.ContainsFunc(g.out.Kept, func(k Kept) bool { return k.Path == p }) {
		g.keep(p, why)
	}
}

// isLink reports whether name is a link in place of a file, or one that is not
// followed.
func (g *gatherer) isLink(name string) bool {
	info, err := g.root.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	info, err = g.root.Stat(name)
	return err != nil || !info.IsDir()
}

func (g *gatherer) isFile(name string) bool {
	info, err := g.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// entries lists a folder, sorted; none if it does not exist.
func (g *gatherer) entries(dir string) []fs.DirEntry {
	list, err := g.root.ReadDir(dir)
	g.fail(err)
	return list
}

// walk lists the files below dir by relative path, sorted, those in linked
// folders too. It leaves out .git, __pycache__ and node_modules.
func (g *gatherer) walk(dir string) []string {
	var out []string
	var in func(rel string, above []string)
	in = func(rel string, above []string) {
		real, err := g.root.resolve(path.Join(dir, rel), true)
		if err != nil {
			g.fail(err)
			return
		}
		if slices.Contains(above, real) {
			g.keep(path.Join(dir, rel), "a link to a folder that holds it")
			return
		}
		above = append(slices.Clip(above), real)
		for _, e := range g.entries(path.Join(dir, rel)) {
			sub := path.Join(rel, e.Name())
			info, err := g.root.Stat(path.Join(dir, sub))
			switch {
			case slices.Contains([]string{".git", "__pycache__", "node_modules"}, e.Name()) && (err != nil || info.IsDir()):
			case err != nil:
				g.fail(err)
			case info.IsDir():
				in(sub, above)
			default:
				out = append(out, sub)
			}
		}
	}
	if info, err := g.root.Stat(dir); err != nil {
		g.fail(err)
	} else if info.IsDir() {
		in("", nil)
	} else {
		g.keep(dir, "not a folder")
	}
	return out
}

// rest reports the entries of dir that are not among known, without looking
// into them.
func (g *gatherer) rest(dir string, known ...string) {
	for _, e := range g.entries(dir) {
		if !slices.Contains(known, e.Name()) {
			g.keep(path.Join(dir, e.Name()), "a bundle has no place for it")
		}
	}
}

// copyFile puts a file into the bundle unchanged.
func (g *gatherer) copyFile(what, from, to, note string) bool {
	if g.isOurs(from) || g.isAside(from) {
		return false
	}
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
