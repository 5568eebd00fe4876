// Package regular reads only regular files of bounded size, from places that
// others can write to. It never waits for a named pipe and never reads a device.
// Call Read.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// MaxSpec is the largest spec or lock, in bytes.
const MaxSpec = 16 << 20

var (
	// ErrKind reports something other than a regular file.
	ErrKind = errors.New("not a regular file")
	// ErrTooLarge reports a file over its limit.
	ErrTooLarge = errors.New("too large")
)

// Read returns the content of a regular file, following links, of at most limit
// bytes. Its error names the file: ErrKind for a folder, pipe, device or socket,
// ErrTooLarge, or one of fs.
func Read(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name) // before opening: some devices react to that
	if err == nil {
		err = Check(name, info, limit)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil {
		err = Check(name, info, limit)
	}
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = tooLarge(name, limit)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Check returns an error unless info is of a regular file of at most limit
// bytes.
func Check(name string, info fs.FileInfo, limit int64) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %s, and %w: move it away", name, kind(info.Mode()), ErrKind)
	}
	if info.Size() > limit {
		return tooLarge(name, limit)
	}
	return nil
}

func tooLarge(name string, limit int64) error {
	return fmt.Errorf("%s is %w: it may have %d bytes", name, ErrTooLarge, limit)
}

// kind describes m's type for a person.
func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "of another kind"
}
