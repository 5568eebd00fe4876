package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links one path may go through, as in Linux.
const maxLinks = 40

// folder is a handle of a resolved folder. Every operation is relative to it,
// so that swapping a folder after the check cannot redirect a write.
type folder struct {
	fd       int
	logical  LogicalPath // as requested
	physical string
	names    []string // physical, as elements below the top of its scope
	id       identity
	cleanup  runtime.Cleanup
	refs     int  // guarded by folders.mu
	dropped  bool // guarded by folders.mu
}

// path returns the physical path of an entry of f.
func (f *folder) path(name string) string { return filepath.Join(f.physical, name) }

// identity distinguishes an inode from every other in use.
type identity struct{ dev, ino uint64 }

func identityOf(st *unix.Stat_t) identity { return identity{uint64(st.Dev), uint64(st.Ino)} }

// split returns the folder of p, open, and the entry's name in it. The caller
// releases the folder.
func (d *Disk) split(p LogicalPath) (*folder, string, error) {
	if err := valid(p); err != nil {
		return nil, "", err
	}
	if p == "/" || p == "." {
		f, err := d.folder(p)
		return f, ".", err
	}
	f, err := d.folder(p.Dir())
	return f, p.Base(), err
}

// valid refuses a path that is not clean, points above its start, or names
// git's folder.
func valid(p LogicalPath) error {
	s := string(p)
	switch {
	case s == "" || strings.ContainsRune(s, 0):
		return fmt.Errorf("path %q: %w", s, fs.ErrInvalid)
	case s == ".." || strings.HasPrefix(s, "../") || strings.Contains(s, "/../") || strings.HasSuffix(s, "/.."):
		return fmt.Errorf("path %q %w: it contains \"..\"", s, ErrEscapes)
	case path.Clean(s) != s:
		return fmt.Errorf("path %q is not clean, want %q: %w", s, path.Clean(s), fs.ErrInvalid)
	}
	return notGits(p)
}

// folder returns the folder p, open, from the cache if that is still the same
// folder. The caller releases it.
func (d *Disk) folder(p LogicalPath) (*folder, error) {
	if f := d.folders.get(p); f != nil {
		return f, nil
	}
	f, err := d.resolve(p)
	if err != nil {
		return nil, err
	}
	if err := d.notInGits(p, f); err != nil {
		f.close()
		return nil, err
	}
	f.logical = p
	d.folders.put(p, f)
	return f, nil
}

func (d *Disk) resolve(p LogicalPath) (*folder, error) {
	switch {
	case p.Project() && d.project == "":
		return nil, fmt.Errorf("path %q is relative to a project, and there is none: %w", p, fs.ErrNotExist)
	case p == ".":
		return d.walk("/", elements(d.project), nil)
	case p == "/":
		return d.walk(d.root, nil, nil)
	}
	up, err := d.folder(p.Dir())
	if err != nil {
		return nil, err
	}
	defer d.folders.release(up)
	fd, err := openat(up.fd, p.Base(), folderFlags|unix.O_NOFOLLOW, 0)
	if err == nil {
		return newFolder(fd, up.path(p.Base()), append(slices.Clip(up.names), p.Base()))
	}
	if _, err := linkInPlaceOf(up.fd, p.Base(), up.path(p.Base()), err); err != nil {
		return nil, err
	}
	within, err := d.bounds(p)
	if err != nil {
		return nil, err
	}
	top := d.root
	if p.Project() {
		top = "/"
	}
	f, err := d.walk(top, append(slices.Clip(up.names), p.Base()), within)
	if errors.Is(err, fs.ErrNotExist) {
		err = dangling{err}
	}
	return f, err
}

// dangling is an ErrDangling.
type dangling struct{ error }

func (d dangling) Is(target error) bool { return target == ErrDangling }
func (d dangling) Unwrap() error        { return d.error }

// bounds returns the elements of the folder that a link on the way to p must
// not leave: the project, the home for what is in it, or none.
func (d *Disk) bounds(p LogicalPath) ([]string, error) {
	base := LogicalPath(".")
	if !p.Project() {
		if d.home == "" || !strings.HasPrefix(string(p), strings.TrimSuffix(string(d.home), "/")+"/") {
			return nil, nil
		}
		base = d.home
	}
	f, err := d.folder(base)
	if err != nil {
		return nil, err
	}
	defer d.folders.release(f)
	return f.names, nil
}

// walk opens the folder that names lead to from top, following links as if top
// were "/". It must end within the given elements.
func (d *Disk) walk(top string, names, within []string) (*folder, error) {
	fd, err := openat(unix.AT_FDCWD, top, folderFlags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: top, Err: err}
	}
	open := []int{fd} // one for top and one for each of done
	defer func() {
		for _, fd := range open {
			_ = unix.Close(fd)
		}
	}()
	var done []string
	var link, target string
	todo := slices.Clone(names)
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			if len(done) > 0 {
				_ = unix.Close(open[len(done)])
				open, done = open[:len(done)], done[:len(done)-1]
			}
			continue
		}
		here := open[len(done)]
		fd, err := openat(here, name, folderFlags|unix.O_NOFOLLOW, 0)
		if err == nil {
			open, done = append(open, fd), append(done, name)
			continue
		}
		at := join(top, append(slices.Clip(done), name))
		to, err := linkInPlaceOf(here, name, at, err)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrBlocked) {
			if !inside(elements(path.Join(append(slices.Clip(done), append([]string{name}, todo...)...)...)), within) {
				return nil, leaves(link, target, top, within)
			}
		}
		if err != nil {
			return nil, err
		}
		if links++; links > maxLinks {
			return nil, &fs.PathError{Op: "open", Path: at, Err: unix.ELOOP}
		}
		if link == "" {
			link, target = at, to
		}
		if path.IsAbs(to) {
			for _, fd := range open[1:] {
				_ = unix.Close(fd)
			}
			open, done = open[:1], nil
		}
		todo = append(elements(to), todo...)
	}
	if !inside(done, within) {
		return nil, leaves(link, target, top, within)
	}
	last := open[len(open)-1]
	open = open[:len(open)-1]
	return newFolder(last, join(top, done), done)
}

// newFolder takes over fd.
func newFolder(fd int, physical string, names []string) (*folder, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, &fs.PathError{Op: "stat", Path: physical, Err: err}
	}
	f := &folder{fd: fd, physical: physical, names: names, id: identityOf(&st)}
	f.cleanup = runtime.AddCleanup(f, func(fd int) { _ = unix.Close(fd) }, fd) // a Disk needs no Close
	return f, nil
}

func (f *folder) close() {
	f.cleanup.Stop()
	_ = unix.Close(f.fd)
}

func leaves(link, target, top string, within []string) error {
	return fmt.Errorf("link %s -> %s %w (%s): replace the link by a folder, or take what is below it out of the spec",
		link, target, ErrEscapes, join(top, within))
}

// linkInPlaceOf returns the target of the link name in the folder dir, which
// err kept from being opened as a folder; physical is its path. The error wraps
// ErrBlocked only if an entry other than a folder or a link is there: an
// unreadable one is not known to be in the way.
func linkInPlaceOf(dir int, name, physical string, err error) (string, error) {
	if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.EMLINK) {
		return "", &fs.PathError{Op: "open", Path: physical, Err: err}
	}
	target, err := readlinkat(dir, name)
	switch {
	case err == nil:
		return target, nil
	case errors.Is(err, unix.EINVAL):
		return "", fmt.Errorf("%s is not a folder: %w", physical, ErrBlocked)
	}
	return "", &fs.PathError{Op: "readlink", Path: physical, Err: err}
}

func inside(names, within []string) bool {
	return len(names) >= len(within) && slices.Equal(names[:len(within)], within)
}

// elements returns the elements of p without empty ones and ".".
func elements(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" || s == "." })
}

func join(top string, names []string) string {
	return filepath.Join(append([]string{top}, names...)...)
}

// GitsOwn reports whether an element of a path is git's folder, or taken for it
// by some file system: .git in any case, with characters that HFS+ ignores,
// git~1, each with trailing dots and spaces, or a stream of it. A backslash
// separates elements too. See verify_path in git's read-cache.c.
func GitsOwn(name string) bool {
	if !strings.ContainsAny(name, "gG") {
		return false
	}
	for element := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		element = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return unicode.ToLower(r)
		}, element)
		element, _, _ = strings.Cut(element, ":")
		switch strings.TrimRight(element, ". ") {
		case ".git", "git~1":
			return true
		}
	}
	return false
}

// notGits refuses a path that names git's folder. Files there can make git run
// programs, so aisync writes there only through git.
func notGits(p LogicalPath) error {
	if GitsOwn(string(p)) {
		return fmt.Errorf("path %q %w: it lies in git's own folder, which only git writes", p, ErrEscapes)
	}
	return nil
}

// notInGits refuses the open folder f, requested as p, if a link led into git's
// folder. A project may itself lie in one.
func (d *Disk) notInGits(p LogicalPath, f *folder) error {
	names := f.names
	if p.Project() {
		if base := elements(d.project); inside(names, base) {
			names = names[len(base):]
		}
	}
	for _, name := range names {
		if GitsOwn(name) {
			return fmt.Errorf("path %q %w: it leads to %s, which only git writes; replace the link on its way by a folder, or take what is below it out of the spec", p, ErrEscapes, f.physical)
		}
	}
	return nil
}
