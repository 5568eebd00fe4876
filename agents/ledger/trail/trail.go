// Package trail reads the audit trail of a ledger: its lines in order, again by their
// place, and what they say. It writes nothing. Call Open, Trail.Lines and Parse.
package trail

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// Trail is an open audit trail: it stays readable as it was while another process
// compacts the ledger.
type Trail struct{ files []file }

type file struct {
	name string // relative to the ledger's folder
	*os.File
}

// Line is one line of a trail.
type Line struct {
	Text   []byte // without its end; valid until the next line
	Place  Place
	Number int // from 1, in its file
}

// Place is where a line lies. The places of a trail are in the order of its lines.
type Place struct {
	at   int64
	size int32
	file int32
}

// Compare orders places.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.file, other.file), cmp.Compare(p.at, other.at))
}

// MaxLine bounds a line of the audit trail, and so the memory of a reader: a
// longer one counts as malformed.
const MaxLine = 16 << 20

// Open opens the files of a trail, oldest first, those that exist. The caller must
// close it.
func Open(names []string, open func(name string) (*os.File, error)) (*Trail, error) {
	t := &Trail{}
	for _, name := range names {
		f, err := open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Close()
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		t.files = append(t.files, file{name, f})
	}
	return t, nil
}

// Close closes the files.
func (t *Trail) Close() error {
	var all error
	for _, f := range t.files {
		all = errors.Join(all, f.Close())
	}
	return all
}

// Name returns the file of a place, relative to the ledger's folder.
func (t *Trail) Name(p Place) string { return t.files[p.file].name }

// Size returns the bytes of the last file, which is the one that grows; 0 without one.
func (t *Trail) Size() int64 {
	if len(t.files) == 0 {
		return 0
	}
	info, err := t.files[len(t.files)-1].Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// Lines yields every line that is not blank, archives first. An error ends the
// sequence.
func (t *Trail) Lines() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		r := bufio.NewReaderSize(nil, 256<<10)
		for i, f := range t.files {
			r.Reset(io.NewSectionReader(f, 0, 1<<62))
			at := int64(0)
			for n := 1; ; n++ {
				text, size, err := ReadLine(r)
				if len(bytes.TrimSpace(text)) > 0 {
					if !yield(Line{text, Place{at, int32(min(size, MaxLine)), int32(i)}, n}, nil) {
						return
					}
				}
				at += int64(size)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					yield(Line{}, fmt.Errorf("read %s: %w", f.name, err))
					return
				}
			}
		}
	}
}

// ReadLine returns the next line without its end, and its size with it. It is
// valid until the next call. Of a line over MaxLine it returns only the beginning.
func ReadLine(r *bufio.Reader) (line []byte, size int, err error) {
	text, err := r.ReadSlice('\n')
	size = len(text)
	if !errors.Is(err, bufio.ErrBufferFull) {
		return withoutEnd(text), size, err
	}
	long := slices.Clone(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = r.ReadSlice('\n')
		size += len(text)
		if len(long) < MaxLine {
			long = append(long, text...)
		}
	}
	return withoutEnd(long), size, err
}

func withoutEnd(line []byte) []byte {
	for n := len(line); n > 0 && (line[n-1] == '\n' || line[n-1] == '\r'); n = len(line) {
		line = line[:n-1]
	}
	return line
}

// Window reads lines of a trail again, best in their order.
type Window struct {
	*Trail
	held []byte // bytes of a file
	at   Place  // of held: its file and where it begins
}

const windowSize = 256 << 10

// Line returns the line at p. It is valid until the next call.
func (w *Window) Line(p Place) ([]byte, error) {
	from := p.at - w.at.at
	if w.held == nil || p.file != w.at.file || from < 0 || from+int64(p.size) > int64(len(w.held)) {
		w.held = slices.Grow(w.held[:0], max(windowSize, int(p.size)))
		w.held = w.held[:cap(w.held)]
		f := w.files[p.file]
		n, err := f.ReadAt(w.held, p.at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", f.name, err)
		}
		w.held, w.at, from = w.held[:n], p, 0
		if n < int(p.size) {
			return nil, fmt.Errorf("%s became shorter while it was read; run the command again", f.name)
		}
	}
	return withoutEnd(w.held[from : from+int64(p.size)]), nil
}
