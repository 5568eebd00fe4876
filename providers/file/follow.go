package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// followed is what lies where the link in place of the file a leads to; ok is
// false if p is no link, or one that may not be followed.
func followed(r reconcile.ReadEnv, a reconcile.Address, whole bool) (_ seen, ok bool) {
	p := a.Path(r.Home)
	to, err := fsys.Follow(r.FS, r.Home, p)
	if err != nil || to == p {
		return seen{}, false
	}
	s, err := readAt(r, to, whole)
	if err == nil {
		s.via = to
		s.target, err = r.FS.Readlink(p)
	}
	return s, err == nil
}

// readAt reads the regular file at p, whole or only its digest.
func readAt(r reconcile.ReadEnv, p fsys.LogicalPath, whole bool) (seen, error) {
	digest, mode, err := r.FS.Digest(p)
	if err != nil {
		return seen{}, err
	}
	s := seen{presence: reconcile.Present, digest: digest, mode: mode, exec: isExecutable(mode)}
	if whole {
		if s.doc, err = r.FS.ReadFile(p); err == nil {
			s.digest = fsys.Digest(s.doc)
		}
	}
	return s, err
}

// throughLink judges s, which lies where a link leads to. aisync writes through
// the link only over the exact bytes that it recorded there as the person's: the
// file may have been edited since, or be another one. An edit can be looked at
// and adopted.
func throughLink(t reconcile.Target, s seen) seen {
	if s.via == "" {
		return s
	}
	want, last := wholeOf(t)
	theirs := last != nil && last.Provenance != reconcile.Created
	switch token := s.token(); {
	case want != nil && want.Body.Fingerprint() == token, theirs && last.Live == token:
		return s
	case !theirs:
		return seen{presence: reconcile.Blocked, reason: s.replaced(t)}
	}
	s.fixed = s.replaced(t)
	return s
}

func (s seen) replaced(t reconcile.Target) string {
	return fmt.Sprintf("%s is a link to %s, and aisync would replace all of that file; remove the link, or take the file out of the spec", t.Resource.Address.Name(), s.target)
}

// wholeOf returns the leaf of t that is the whole file, and its record; nil if
// there is none.
func wholeOf(t reconcile.Target) (want *reconcile.Leaf, last *reconcile.LeafRecord) {
	for i, l := range t.Resource.Leaves {
		if l.Key == "" {
			want = &t.Resource.Leaves[i]
		}
	}
	for i, l := range t.Last {
		if l.Key == "" {
			last = &t.Last[i]
		}
	}
	return want, last
}

// given is what lies at a, a file of the home, if a link on its way leads out of
// the home to what this user cannot write: a package manager such as Nix put it
// there.
func given(r reconcile.ReadEnv, a reconcile.Address) (_ seen, ok bool) {
	p := a.Path(r.Home)
	if p.Project() {
		return seen{}, false
	}
	to, link, target := destination(r, p)
	if link == "" || strings.HasPrefix(string(to), strings.TrimSuffix(string(r.Home), "/")+"/") {
		return seen{}, false
	}
	fixed := fmt.Sprintf("%s is a link to %s, which is read-only; put this into what makes the link, such as the Nix configuration, or take it out of the spec", link, target)
	s, err := readAt(r, to, true)
	switch {
	case errors.Is(err, fs.ErrNotExist) && to != p:
		info, err := r.FS.Lstat(to.Dir())
		if err != nil || !unwritable(info) {
			return seen{}, false
		}
		return seen{presence: reconcile.Absent, fixed: fixed}, true
	case err != nil || int64(len(s.doc)) > fsys.MaxSource:
		return seen{}, false
	}
	info, err := r.FS.Lstat(to)
	if err != nil || !unwritable(info) {
		return seen{}, false
	}
	s.fixed = fixed
	return s, true
}

// unwritable reports whether only another user, or no user, may write info's
// entry.
func unwritable(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode()&0o222 == 0 || ok && int(st.Uid) != os.Geteuid()
}

// destination is where p leads to with all links followed, and the first link on
// the way with its target; link is "" if there is none, or it cannot be followed.
func destination(r reconcile.ReadEnv, p fsys.LogicalPath) (to, link fsys.LogicalPath, target string) {
	const most = 40 // links in a path, as in Linux
	for range most {
		next, at, first := p, fsys.LogicalPath("/"), ""
		for name := range strings.SplitSeq(strings.Trim(string(p), "/"), "/") {
			at = at.Join(name)
			info, err := r.FS.Lstat(at)
			if err != nil {
				break
			}
			if info.Mode()&fs.ModeSymlink == 0 {
				continue
			}
			if first, err = r.FS.Readlink(at); err != nil {
				return p, "", ""
			}
			rest := strings.TrimPrefix(string(p), string(at))
			if next = fsys.LogicalPath(path.Join(first, rest)); !path.IsAbs(first) {
				next = fsys.LogicalPath(path.Join(string(at.Dir()), first, rest))
			}
			break
		}
		if next == p {
			return p, link, target
		}
		if link == "" {
			link, target = at, first
		}
		p = next
	}
	return p, "", ""
}
