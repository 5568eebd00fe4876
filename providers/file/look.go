package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// seen is what lies at the path of a target.
type seen struct {
	presence reconcile.Presence
	reason   string // why the state is Blocked or Unknown
	digest   string
	mode     fs.FileMode
	exec     bool             // whether mode allows execution, where the file system keeps it
	doc      []byte           // only on request
	via      fsys.LogicalPath // where a link in place of the file led to; "" without one
	target   string           // of that link
	fixed    string           // why it must not be written to, and what to do; "" if it may
}

// token identifies all of what was seen; "" if there is nothing.
func (s seen) token() reconcile.Fingerprint {
	if s.presence != reconcile.Present {
		return ""
	}
	return tokenOf(s.digest, s.exec)
}

// readOnly reports whether the write permission was removed. A replacement
// would work all the same, but the owner wants the file as it is.
func (s seen) readOnly() bool {
	return s.fixed != "" || s.presence == reconcile.Present && s.mode.IsRegular() && s.mode&0o200 == 0
}

func (s seen) readOnlyReason(name string) string {
	if s.fixed != "" {
		return s.fixed
	}
	return fmt.Sprintf("%s is read-only (mode %04o); make it writable with chmod u+w, or take it out of the spec", name, s.mode.Perm())
}

// expect is what a write must still find.
func (s seen) expect() fsys.Expect {
	if s.presence == reconcile.Absent {
		return fsys.Expect{Absent: true}
	}
	return fsys.Expect{Digest: s.digest}
}

// see reads the file of t. Where the file system keeps no executable bit, the
// file gets the expected one: that is no edit.
func see(r reconcile.ReadEnv, t reconcile.Target, whole bool) seen {
	a := t.Resource.Address
	s := throughLink(t, look(r, a, whole))
	if s.presence != reconcile.Present {
		return s
	}
	if should := shouldExecute(t, s); s.exec != should && !r.FS.KeepsExec(a.Path(r.Home), s.mode) {
		s.exec = should
	}
	return s
}

// shouldExecute is the executable bit of the file of t as wanted or recorded:
// where these differ, the one whose bytes match s. A file of which only parts
// are ours has none.
func shouldExecute(t reconcile.Target, s seen) bool {
	whole := func(key reconcile.LeafKey) bool { return key == "" || key == reconcile.Seed }
	i := slices.IndexFunc(t.Resource.Leaves, func(l reconcile.Leaf) bool { return whole(l.Key) })
	j := slices.IndexFunc(t.Last, func(l reconcile.LeafRecord) bool { return whole(l.Key) })
	if i < 0 {
		return j >= 0 && executes(t.Last[j].Live)
	}
	body := t.Resource.Leaves[i].Body
	should := Executable(body)
	if j >= 0 && executes(t.Last[j].Live) != should && body.Fingerprint() != tokenOf(s.digest, should) {
		return !should
	}
	return should
}

// look reads the file a, whole or only its digest.
func look(r reconcile.ReadEnv, a reconcile.Address, whole bool) seen {
	p, name := a.Path(r.Home), a.Name()
	if !whole {
		digest, mode, err := r.FS.Digest(p)
		if err != nil {
			return notOpened(r, a, err)
		}
		return seen{presence: reconcile.Present, digest: digest, mode: mode, exec: isExecutable(mode)}
	}
	f, err := r.FS.Open(p)
	if err != nil {
		return notOpened(r, a, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return seen{presence: reconcile.Unknown, reason: unreadable(name, err)}
	}
	if info.Size() > fsys.MaxSource {
		return seen{presence: reconcile.Unknown, reason: fmt.Sprintf("%s has %d bytes, and at most %d are read; move it away, or take it out of the spec", name, info.Size(), fsys.MaxSource)}
	}
	doc, err := io.ReadAll(f)
	if err != nil {
		return seen{presence: reconcile.Unknown, reason: unreadable(name, err)}
	}
	return seen{presence: reconcile.Present, digest: fsys.Digest(doc), mode: info.Mode(), exec: isExecutable(info.Mode()), doc: doc}
}

// asCommitted is s as git stores it: without the \r that git adds to each line
// when it writes this work tree. A file with mixed line ends was edited and
// stays as it is.
func asCommitted(r reconcile.ReadEnv, a reconcile.Address, s seen) seen {
	if s.presence != reconcile.Present || r.CRLF == nil || !a.InProject() {
		return s
	}
	if s.doc == nil {
		exec := s.exec
		if s = look(r, a, true); s.presence != reconcile.Present {
			return s
		}
		s.exec = exec
	}
	ends := bytes.Count(s.doc, []byte("\r\n"))
	if ends == 0 || ends != bytes.Count(s.doc, []byte("\n")) || !r.CRLF(a.Path(r.Home)) {
		return s
	}
	s.doc = bytes.ReplaceAll(s.doc, []byte("\r\n"), []byte("\n"))
	s.digest = fsys.Digest(s.doc)
	return s
}

// notOpened says why a cannot be opened or read.
func notOpened(r reconcile.ReadEnv, a reconcile.Address, err error) seen {
	p, name := a.Path(r.Home), a.Name()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !errors.Is(err, fsys.ErrDangling) {
			return seen{presence: reconcile.Absent}
		}
		return dangling(r, p)
	case errors.Is(err, fsys.ErrEscapes):
		if s, ok := given(r, a); ok {
			return s
		}
		return seen{presence: reconcile.Blocked, reason: err.Error()}
	case errors.Is(err, syscall.ELOOP):
		at := string(p)
		if in := new(fs.PathError); errors.As(err, &in) {
			at = in.Path
		}
		return seen{presence: reconcile.Blocked, reason: at + " is a link in a circle of links; remove one of them"}
	case !errors.Is(err, fsys.ErrBlocked):
		return seen{presence: reconcile.Unknown, reason: unreadable(name, err)}
	}
	blocked := seen{presence: reconcile.Blocked, reason: err.Error() + "; move it away, or take what is below it out of the spec"}
	info, lerr := r.FS.Lstat(p)
	switch {
	case lerr != nil: // a file where a folder above p should be
	case info.Mode()&fs.ModeSymlink != 0:
		if s, ok := followed(r, a, true); ok {
			return s
		}
		if s, ok := given(r, a); ok {
			return s
		}
		target, _ := r.FS.Readlink(p)
		blocked.reason = fmt.Sprintf("%s is a link to %s, and aisync would replace all of that file; remove the link, or take the file out of the spec", name, target)
		if _, err := fsys.Follow(r.FS, r.Home, p); err != nil {
			blocked.reason = err.Error()
		}
	case info.IsDir():
		blocked.reason = fmt.Sprintf("%s is a folder; move it away, or take the file out of the spec", name)
	default:
		blocked.reason = fmt.Sprintf("%s is not a regular file (%s); move it away, or take it out of the spec", name, info.Mode().Type())
	}
	return blocked
}

// dangling is what is seen at p if a link that leads nowhere is in the place of a
// folder above it.
func dangling(r reconcile.ReadEnv, p fsys.LogicalPath) seen {
	for dir := p.Dir(); dir != "." && dir != "/"; dir = dir.Dir() {
		info, err := r.FS.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			if _, err := r.FS.ReadDir(dir); errors.Is(err, fs.ErrNotExist) {
				target, _ := r.FS.Readlink(dir)
				return seen{presence: reconcile.Blocked, reason: fmt.Sprintf("%s is a dangling link, to %s; create its target, or remove the link", dir, target)}
			}
		}
		return seen{presence: reconcile.Absent}
	}
	return seen{presence: reconcile.Absent}
}

func unreadable(name string, err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Sprintf("%s cannot be read: %v; make it readable for this user, or take it out of the spec", name, err)
	}
	return fmt.Sprintf("%s cannot be read: %v", name, err)
}
