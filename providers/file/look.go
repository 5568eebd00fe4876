package file

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// seen is what lies at the path of a target.
type seen struct {
	presence reconcile.Presence
	reason   string // of Blocked and Unknown
	digest   string
	mode     fs.FileMode
	doc      []byte // only where it was asked for
}

func (s seen) executable() bool { return isExecutable(s.mode) }

// token identifies all of what was seen; "" where nothing is.
func (s seen) token() reconcile.Fingerprint {
	if s.presence != reconcile.Present {
		return ""
	}
	return tokenOf(s.digest, s.executable())
}

// expect is what a write must still find.
func (s seen) expect() fsys.Expect {
	if s.presence == reconcile.Absent {
		return fsys.Expect{Absent: true}
	}
	return fsys.Expect{Digest: s.digest}
}

// look reads the file at p, as a whole or only through its digest. name is how
// messages call it.
func look(r fsys.Reader, p fsys.LogicalPath, name string, whole bool) seen {
	f, err := r.Open(p)
	if err != nil {
		return notOpened(r, p, name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return seen{presence: reconcile.Unknown, reason: unreadable(name, err)}
	}
	s := seen{presence: reconcile.Present, mode: info.Mode()}
	if whole {
		if s.doc, err = io.ReadAll(f); err == nil {
			s.digest = fsys.Digest(s.doc)
		}
	} else {
		s.digest, err = digest(f)
	}
	if err != nil {
		return seen{presence: reconcile.Unknown, reason: unreadable(name, err)}
	}
	return s
}

// notOpened says why p cannot be opened.
func notOpened(r fsys.Reader, p fsys.LogicalPath, name string, err error) seen {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return seen{presence: reconcile.Absent}
	case errors.Is(err, fsys.ErrEscapes):
		return seen{presence: reconcile.Blocked, reason: err.Error()}
	case !errors.Is(err, fsys.ErrBlocked):
		return seen{presence: reconcile.Unknown, reason: unreadable(name, err)}
	}
	blocked := seen{presence: reconcile.Blocked, reason: err.Error() + "; move it away, or take what is below it out of the spec"}
	info, lerr := r.Lstat(p)
	switch {
	case lerr != nil: // a file where a folder above p should be
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := r.Readlink(p)
		blocked.reason = fmt.Sprintf("%s is a link to %s; name its target in the spec instead, or remove the link", name, target)
	case info.IsDir():
		blocked.reason = fmt.Sprintf("%s is a folder; move it away, or take the file out of the spec", name)
	default:
		blocked.reason = fmt.Sprintf("%s is no regular file (%s); move it away, or take it out of the spec", name, info.Mode().Type())
	}
	return blocked
}

func unreadable(name string, err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Sprintf("%s cannot be read: %v; make it readable for this user, or take it out of the spec", name, err)
	}
	return fmt.Sprintf("%s cannot be read: %v", name, err)
}

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// digest is fsys.DigestReader without a new buffer a file: a plan may hash
// thousands.
func digest(f *os.File) (string, error) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	for {
		n, err := f.Read(buf[:])
		h.Write(buf[:n])
		if err == io.EOF {
			return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}
