package gguf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The types of values, numbered as in the format.
const (
	typeUint8 = iota
	typeInt8
	typeUint16
	typeInt16
	typeUint32
	typeInt32
	typeFloat32
	typeBool
	typeString
	typeArray
	typeUint64
	typeInt64
	typeFloat64
)

// widths are the bytes of a value by its type; 0 means variable.
var widths = [...]int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// scanner reads a header sequentially. After the first error it returns zero
// values and keeps the error.
type scanner struct {
	r    *bufio.Reader
	at   int64 // bytes read so far
	size int64 // of the file
	few  [8]byte
	err  error
}

func newScanner(r io.ReaderAt, size int64) *scanner {
	limit := min(max(size, 0), maxHeader)
	return &scanner{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, limit), int(max(16, min(limit, readSize)))), size: size}
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// failed turns an error of the reader into one about the file.
func (s *scanner) failed(err error) {
	switch {
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		s.fail("read the header at byte %d: %w", s.at, err)
	case s.size > maxHeader:
		s.fail("the header is longer than %d MiB; the file is damaged", maxHeader>>20)
	default:
		s.fail("the file ends within its header, at byte %d; the download is incomplete, or the file is damaged", s.size)
	}
}

// left is how many bytes the header can still have.
func (s *scanner) left() int64 { return min(s.size, maxHeader) - s.at }

// bytes returns the next n bytes, valid until the next call; zeros after an
// error.
func (s *scanner) bytes(n int64) []byte {
	b := s.few[:]
	if n > int64(len(b)) {
		b = make([]byte, n)
	}
	b = b[:n]
	clear(b)
	if s.err != nil {
		return b
	}
	got, err := io.ReadFull(s.r, b)
	s.at += int64(got)
	if err != nil {
		s.failed(err)
		clear(b)
	}
	return b
}

func (s *scanner) skip(n int64) {
	if s.err != nil {
		return
	}
	for n > 0 && s.err == nil {
		got, err := s.r.Discard(int(min(n, readSize)))
		s.at, n = s.at+int64(got), n-int64(got)
		if err != nil {
			s.failed(err)
		}
	}
}

func (s *scanner) uint32() uint32 { return binary.LittleEndian.Uint32(s.bytes(4)) }
func (s *scanner) uint64() uint64 { return binary.LittleEndian.Uint64(s.bytes(8)) }

// count reads a number of elements, each of at least 8 bytes.
func (s *scanner) count(what string, most int64) int64 {
	n := s.uint64()
	if s.err == nil && (n > uint64(most) || n > uint64(s.left())/8) {
		s.fail("the header says that it has %d %s, which is more than the file can hold or any model has; the file is damaged", n, what)
	}
	if s.err != nil {
		return 0
	}
	return int64(n)
}

// length reads a length in bytes.
func (s *scanner) length(what string) int64 {
	n := s.uint64()
	if s.err == nil && n > uint64(s.left()) {
		s.fail("%s at byte %d is said to be %d bytes long, which is more than is left of the header; the file is damaged", what, s.at-8, n)
	}
	if s.err != nil {
		return 0
	}
	return int64(n)
}

// text reads a string. It keeps only the first maxText bytes: callers need
// nothing longer.
func (s *scanner) text(what string) string { return s.textUpTo(what, maxText) }

// textUpTo reads a string and keeps its first most bytes.
func (s *scanner) textUpTo(what string, most int64) string {
	n := s.length(what)
	b := s.bytes(min(n, most))
	s.skip(n - int64(len(b)))
	if s.err != nil {
		return ""
	}
	return string(b)
}

// number reads a fixed-width value as an integer. Fractions, which callers do
// not need, read as 0.
func (s *scanner) number(typ uint32) int64 {
	b := s.bytes(widths[typ])
	switch typ {
	case typeUint8, typeBool:
		return int64(b[0])
	case typeInt8:
		return int64(int8(b[0]))
	case typeUint16:
		return int64(binary.LittleEndian.Uint16(b))
	case typeInt16:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case typeUint32:
		return int64(binary.LittleEndian.Uint32(b))
	case typeInt32:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case typeUint64:
		return int64(min(binary.LittleEndian.Uint64(b), math.MaxInt64))
	case typeInt64:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// magic reads the start of a GGUF file and returns the version of its format.
func (s *scanner) magic() int {
	first, err := s.r.Peek(int(min(max(s.size, 0), 16)))
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed(err)
		return 0
	}
	if !bytes.HasPrefix(first, []byte("GGUF")) {
		s.fail("%w: %s", ErrNotGGUF, looksLike(first))
		return 0
	}
	s.skip(4)
	v := s.uint32()
	switch {
	case s.err != nil:
	case v != 0 && v&0xffff == 0: // as in llama.cpp
		s.fail("the file is a big-endian GGUF file, for another kind of machine; fetch the little-endian one")
	case v == 0 || v == 1:
		s.fail("the file is GGUF version %d, which is obsolete; fetch a newer one", v)
	case v > 3:
		s.fail("the file is GGUF version %d, but this aisync knows 2 and 3; upgrade aisync", v)
	}
	return int(v)
}

// looksLike says what file begins with these bytes.
func looksLike(first []byte) string {
	text := bytes.ToLower(bytes.TrimSpace(first))
	for _, known := range []struct {
		prefix, what string
	}{
		{"version https:", "it is a git LFS pointer; the model itself was not fetched"},
		{"<", "it is a web page, perhaps the error message of a server"},
		{"{", "it is JSON, perhaps the error message of a server"},
		{"pk\x03\x04", "it is a zip archive"},
		{"lmgg", "it has GGML's first format, which is obsolete"},
		{"fmgg", "it has GGML's first format, which is obsolete"},
		{"tjgg", "it has the format before GGUF (GGJT), which is obsolete"},
	} {
		if bytes.HasPrefix(text, []byte(known.prefix)) {
			return known.what
		}
	}
	switch {
	case len(first) == 0:
		return "it is empty"
	case len(first) > 8 && first[8] == '{':
		return "it is a safetensors file; fetch the GGUF one"
	case bytes.Count(first, []byte{0}) == len(first):
		return "it begins with zeros; the download is incomplete"
	}
	return fmt.Sprintf("it begins with %q", first[:min(4, len(first))])
}
