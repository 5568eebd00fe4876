package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Follow returns where the link at p leads to in the end: the place of a regular
// file of the same user, or of no entry in a folder that is there. A p that is
// no link is returned as it is. The way must stay in the project, or for a host
// path in home: else the error wraps ErrEscapes. Any other link that cannot be
// written through is ErrBlocked. Errors say what to do.
func Follow(r Reader, home, p LogicalPath) (LogicalPath, error) {
	info, err := r.Lstat(p)
	if Conclusive(err) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	owner, way := userOf(info), []string{string(p)}
	for at := p; ; {
		target, err := r.Readlink(at)
		if err != nil {
			return p, err
		}
		if at, err = next(r, home, at, target); err != nil {
			return p, fmt.Errorf("%s is a link to %s, which %w; put a copy in place of the link, or take it out of the spec", p, target, err)
		}
		info, err := r.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if _, err := r.Lstat(at.Dir()); err != nil && at.Dir() != "." {
				return p, inTheWay("%s is a dangling link, to %s; create its target, or remove the link", p, target)
			}
			return at, nil
		case errors.Is(err, ErrEscapes):
			return p, fmt.Errorf("%s is a link to %s, which %w; put a copy in place of the link, or take it out of the spec", p, target, ErrEscapes)
		case err != nil:
			return p, err
		case userOf(info) != owner || os.Geteuid() != 0 && owner != uint32(os.Geteuid()):
			return p, inTheWay("%s is a link of user %d to %s of user %d; put a copy of your own in place of the link, or take it out of the spec", p, owner, at, userOf(info))
		case info.Mode().IsRegular():
			return at, nil
		case info.Mode()&fs.ModeSymlink == 0:
			return p, inTheWay("%s is a link to %s, which is no file; remove the link, or take it out of the spec", p, at)
		}
		for _, had := range way {
			if had == string(at) {
				return p, inTheWay("%s -> %s is a circle of links; remove one of them", strings.Join(way, " -> "), at)
			}
		}
		way = append(way, string(at))
		if len(way) > maxLinks {
			return p, inTheWay("%s leads through more than %d links; remove some of them", p, maxLinks)
		}
	}
}

// blockedLink is an ErrBlocked that says what to do.
type blockedLink string

func (b blockedLink) Error() string        { return string(b) }
func (b blockedLink) Is(target error) bool { return target == ErrBlocked }

func inTheWay(format string, args ...any) error { return blockedLink(fmt.Sprintf(format, args...)) }

// next is where target of the link at leads to, in the scope of at.
func next(r Reader, home, at LogicalPath, target string) (LogicalPath, error) {
	from, err := r.Physical(at)
	if err != nil {
		return "", err
	}
	base := LogicalPath(".")
	if !at.Project() {
		base = home
	}
	if base != "." && !strings.HasPrefix(string(at), strings.TrimSuffix(string(home), "/")+"/") {
		return "", ErrEscapes
	}
	top, err := r.Physical(base.Join("x")) // resolves base itself, too
	if err != nil {
		return "", err
	}
	top = filepath.Dir(top)
	if rest, ok := strings.CutPrefix(path.Clean(target), strings.TrimSuffix(string(home), "/")+"/"); ok && home != "" && base != "." && !GitsOwn(rest) {
		return base.Join(rest), nil // the home itself may be a link
	}
	to := filepath.Join(filepath.Dir(from), target)
	if filepath.IsAbs(target) {
		to = target
		if base != "." {
			root, err := r.Physical("/")
			if err != nil {
				return "", err
			}
			to = filepath.Join(root, target)
		}
	}
	rel, err := filepath.Rel(top, to)
	if err != nil || !filepath.IsLocal(rel) || GitsOwn(rel) {
		return "", ErrEscapes
	}
	return base.Join(filepath.ToSlash(rel)), nil
}

// userOf is the owner of an entry.
func userOf(info fs.FileInfo) uint32 {
	if st, ok := info.Sys().(*unix.Stat_t); ok {
		return st.Uid
	}
	return uint32(os.Geteuid())
}
