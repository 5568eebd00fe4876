package fetch

import (
	"context"
	"io"
	"os"
)

// fileSource is an absolute path on this machine.
type fileSource string

func (s fileSource) String() string { return string(s) }

// open implements source.
func (s fileSource) open(_ context.Context, from, to, size int64, _ validator) (stream, error) {
	return openFile(string(s), from, to, size)
}

// openFile yields [from, to) of the regular file at path.
func openFile(path string, from, to, size int64) (stream, error) {
	info, err := os.Stat(path) // before opening: a pipe would block
	if err != nil {
		return stream{}, refuse(nextSource, "%w", err)
	}
	if !info.Mode().IsRegular() {
		return stream{}, refuse(nextSource, "is not a regular file")
	}
	if info.Size() != size {
		return stream{}, refuse(nextSource, "has %d bytes, not the %d that are pinned", info.Size(), size)
	}
	f, err := os.Open(path)
	if err != nil {
		return stream{}, refuse(nextSource, "%w", err)
	}
	body := struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, from, to-from), f}
	return stream{body: body, from: from, to: to}, nil
}
