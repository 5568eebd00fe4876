package fsys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// MaxSource is the size limit of ReadSource, in bytes: agents read the files of
// a bundle, and comparing them needs memory.
const MaxSource = 32 << 20

// MaxRead is the size limit of ReadFile, in bytes.
const MaxRead = 1 << 30

// ErrTooLarge means that a file has more than MaxSource, or MaxRead, bytes.
var ErrTooLarge = errors.New("is too large")

// ReadSource reads the regular file at a physical path, which may lie anywhere
// and be a link, into buf, and returns buf, grown as needed, and the file's
// mode. One of more than MaxSource bytes is ErrTooLarge. It costs four system
// calls where os.ReadFile takes nine: a bundle may hold thousands of files.
func ReadSource(name string, buf []byte) ([]byte, fs.FileMode, error) {
	fd, err := openat(unix.AT_FDCWD, name, unix.O_RDONLY|unix.O_NONBLOCK, 0) // a named pipe must not block
	if err != nil {
		return buf, 0, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	e := &entry{fd: fd}
	defer e.close()
	if err := unix.Fstat(fd, &e.st); err != nil {
		return buf, 0, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if !regular(&e.st) {
		return buf, 0, blocked(name, &e.st)
	}
	if e.st.Size > MaxSource {
		return buf, 0, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: %d bytes, and a file of a bundle may have %d", ErrTooLarge, e.st.Size, MaxSource)}
	}
	if buf, err = e.readAll(buf[:0]); err != nil {
		return buf, 0, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return buf, fileInfo{name, &e.st}.Mode(), nil
}

// readAll appends all of e to b.
func (e *entry) readAll(b []byte) ([]byte, error) {
	b = slices.Grow(b, int(e.st.Size)+1) // one more: the end is seen without growing
	for {
		n, err := reader{e.fd}.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b)/4+512)
		}
	}
}
