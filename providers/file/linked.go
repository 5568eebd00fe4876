package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Spanning adds to a body of FromSource how many trailing parts of its target's
// path belong to the bundle: 1 is the file alone, more are folders above it. A
// link among these parts must lead to the bundle itself.
func Spanning(b reconcile.Body, parts int) reconcile.Body {
	s, ok := b.(sourceBody)
	if !ok {
		return b
	}
	s.parts = parts
	return s
}

// linked judges a link in the place of a bundle's file, or of a folder that
// belongs to the bundle, in user scope: old installers linked what others copy.
// A link to the bundle's file counts as the file. Any other is in order while
// what it leads to is as wanted or recorded; see throughLink.
func linked(r reconcile.ReadEnv, t reconcile.Target, s seen) seen {
	p := t.Resource.Address.Path(r.Home)
	if p.Project() || len(t.Resource.Leaves) != 1 {
		return s
	}
	body, ok := t.Resource.Leaves[0].Body.(sourceBody)
	if !ok || s.presence == reconcile.Present && s.via == "" && body.parts < 2 {
		return s
	}
	at, source := p, body.path
	for range max(body.parts, 1) {
		found, target, err := judge(r, at, source)
		switch {
		case err != nil:
			return seen{presence: reconcile.Unknown, reason: unreadable(t.Resource.Address.Name(), err)}
		case found == elsewhere && s.presence == reconcile.Present:
			if s.fixed == "" {
				s.via, s.target = t.Resource.Address.Path(r.Home), target
				s = throughLink(t, s)
			}
			if _, last := wholeOf(t); s.presence == reconcile.Present && (s.fixed == "" || last != nil) {
				return s
			}
			return blockedBy(at, fmt.Sprintf("is a link to %s, which is not the bundle's %s", target, source))
		case found == elsewhere:
			return blockedBy(at, fmt.Sprintf("is a link to %s, which is not the bundle's %s", target, source))
		case found == nowhere:
			return blockedBy(at, fmt.Sprintf("is a dangling link, to %s", target))
		case found == home && (s.presence != reconcile.Present || s.via != ""):
			return asSource(body, at)
		case found == home:
			return s
		}
		at, source = at.Dir(), filepath.Dir(source)
	}
	for ; s.presence == reconcile.Absent && at != r.Home && at != "/"; at = at.Dir() {
		found, target, err := judge(r, at, "")
		if err != nil {
			return seen{presence: reconcile.Unknown, reason: unreadable(t.Resource.Address.Name(), err)}
		}
		if found == nowhere {
			return blockedBy(at, fmt.Sprintf("is a dangling link, to %s", target))
		}
	}
	return s
}

func blockedBy(at fsys.LogicalPath, why string) seen {
	return seen{presence: reconcile.Blocked, reason: fmt.Sprintf("%s %s; %s", at, why, advice.UnlinkFirst)}
}

// asSource is what a link to the bundle's file shows.
func asSource(body sourceBody, at fsys.LogicalPath) seen {
	doc, mode, err := fsys.ReadSource(body.path, nil)
	if err != nil {
		return seen{presence: reconcile.Unknown, reason: err.Error()}
	}
	if fsys.Digest(doc) != body.digest {
		return blockedBy(at, "links to the bundle's file, but this program needs it in another form")
	}
	exec := isExecutable(mode)
	if exec != body.exec && !new(fsys.Bits).Kept(body.path, mode) {
		exec = body.exec
	}
	return seen{presence: reconcile.Present, digest: body.digest, mode: mode, exec: exec, doc: doc}
}

// where says what a link leads to.
type where int

const (
	noLink where = iota
	home         // to its bundle
	elsewhere
	nowhere
)

// judge says what the link at leads to, and whether that is source. The error
// is that of reading or following the link.
func judge(r reconcile.ReadEnv, at fsys.LogicalPath, source string) (where, string, error) {
	info, err := r.FS.Lstat(at)
	if fsys.Conclusive(err) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return noLink, "", nil
	}
	var target string
	if err == nil {
		target, err = r.FS.Readlink(at)
	}
	if err != nil {
		return noLink, "", err
	}
	to := fsys.LogicalPath(target)
	if !filepath.IsAbs(target) {
		to = fsys.LogicalPath(filepath.Join(string(at.Dir()), target))
	}
	path := string(to) // what lies out of the scope is only looked at
	if physical, err := r.FS.Physical(to); err == nil {
		path = physical
	}
	is, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nowhere, target, nil
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return elsewhere, target, nil
	case err != nil:
		return noLink, "", err
	}
	if want, err := os.Stat(source); err == nil && os.SameFile(is, want) {
		return home, target, nil
	}
	return elsewhere, target, nil
}
