package fsys

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// entry is a regular file, open for reading, or a link, as found.
type entry struct {
	fd     int // -1 for a link
	st     unix.Stat_t
	target string // of a link
	in     *folder
	name   string
}

func (e *entry) path() string { return e.in.path(e.name) }

func (e *entry) isLink() bool { return e.fd < 0 }

func (e *entry) close() {
	if e != nil && e.fd >= 0 {
		_ = unix.Close(e.fd)
		e.fd = -1
	}
}

func (e *entry) digest() (string, error) {
	if e.isLink() {
		return LinkDigest(e.target), nil
	}
	return DigestReader(reader{e.fd})
}

// changed reports whether the name of e now belongs to another entry, or e was
// written to.
func (e *entry) changed() bool {
	st, err := lstatat(e.in.fd, e.name)
	return err != nil || identityOf(st) != identityOf(&e.st) || st.Size != e.st.Size || st.Mtim != e.st.Mtim || st.Ctim != e.st.Ctim
}

// open opens the entry name of f without following it. Anything but a regular
// file or a link is an error that wraps ErrBlocked.
func (f *folder) open(name string) (*entry, error) {
	// O_NONBLOCK: a named pipe must not block
	fd, err := openat(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) {
		return f.openLink(name)
	}
	if err != nil {
		if st, serr := lstatat(f.fd, name); serr == nil && !regular(st) && st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return nil, blocked(f.path(name), st)
		}
		return nil, &fs.PathError{Op: "open", Path: f.path(name), Err: err}
	}
	e := &entry{fd: fd, in: f, name: name}
	if err := unix.Fstat(fd, &e.st); err != nil {
		e.close()
		return nil, &fs.PathError{Op: "stat", Path: f.path(name), Err: err}
	}
	if !regular(&e.st) {
		e.close()
		return nil, blocked(f.path(name), &e.st)
	}
	return e, nil
}

func (f *folder) openLink(name string) (*entry, error) {
	target, err := readlinkat(f.fd, name)
	if err != nil {
		return nil, &fs.PathError{Op: "readlink", Path: f.path(name), Err: err}
	}
	st, err := lstatat(f.fd, name)
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: f.path(name), Err: err}
	}
	return &entry{fd: -1, st: *st, target: target, in: f, name: name}, nil
}

// expect returns the entry name if it matches want: nil if want is absence. The
// error wraps ErrChanged, and also ErrBlocked if its type differs.
func (f *folder) expect(name string, want Expect) (*entry, error) {
	if want.Absent == (want.Digest != "") {
		return nil, fmt.Errorf("%s: exactly one of absent and digest must be expected: %w", f.path(name), fs.ErrInvalid)
	}
	if want.Absent {
		return nil, f.expectNone(name)
	}
	e, err := f.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s %w: it is gone", f.path(name), ErrChanged)
	case errors.Is(err, ErrBlocked):
		return nil, fmt.Errorf("%w (%w)", err, ErrChanged)
	case err != nil:
		return nil, err
	}
	if err := e.match(f.path(name), want); err != nil {
		e.close()
		return nil, err
	}
	if !e.isLink() {
		if _, err := unix.Seek(e.fd, 0, 0); err != nil {
			e.close()
			return nil, &fs.PathError{Op: "seek", Path: f.path(name), Err: err}
		}
	}
	return e, nil
}

func (f *folder) expectNone(name string) error {
	st, err := lstatat(f.fd, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return &fs.PathError{Op: "lstat", Path: f.path(name), Err: err}
	case regular(st):
		return fmt.Errorf("%s %w: it was not there", f.path(name), ErrChanged)
	}
	return fmt.Errorf("%w (%w)", blocked(f.path(name), st), ErrChanged)
}

// recheck is expect for the entry that now lies at name and belongs to shown.
func (f *folder) recheck(name, shown string, want Expect) error {
	e, err := f.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %w: it is gone", f.path(shown), ErrChanged)
	}
	if errors.Is(err, ErrBlocked) {
		return fmt.Errorf("%w (%w)", err, ErrChanged)
	}
	if err != nil {
		return err
	}
	defer e.close()
	return e.match(f.path(shown), want)
}

func (e *entry) match(at string, want Expect) error {
	if e.isLink() && !strings.HasPrefix(want.Digest, "link:") {
		return fmt.Errorf("%s is a link to %s: %w (%w); remove the link, or manage what it points to", at, e.target, ErrBlocked, ErrChanged)
	}
	if !e.isLink() && strings.HasPrefix(want.Digest, "link:") {
		return fmt.Errorf("%s is a file where a link was: %w (%w)", at, ErrBlocked, ErrChanged)
	}
	got, err := e.digest()
	if err != nil {
		return &fs.PathError{Op: "read", Path: at, Err: err}
	}
	if got != want.Digest {
		return fmt.Errorf("%s %w: want %s, got %s", at, ErrChanged, want.Digest, got)
	}
	return nil
}

func regular(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

func blocked(at string, st *unix.Stat_t) error {
	return fmt.Errorf("%s is %s: %w", at, typeName(st), ErrBlocked)
}

func typeName(st *unix.Stat_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "a regular file"
	case unix.S_IFDIR:
		return "a folder"
	case unix.S_IFLNK:
		return "a link"
	}
	return "a device, pipe or socket"
}
