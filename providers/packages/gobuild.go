package packages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// goBuild reads of which package, in which version of its module, the Go
// toolchain (1.18 or later) built a program. It is what debug/buildinfo does,
// by looking for the mark instead of through every format of programs, whose
// readers are half a megabyte.
// https://github.com/golang/go/blob/go1.26.0/src/debug/buildinfo/buildinfo.go
func goBuild(f io.ReaderAt) (pkg, version string, err error) {
	const step = 1 << 20
	buf := make([]byte, step+maxGoBuild)
	for at := int64(0); ; at += step {
		n, err := f.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", "", err
		}
		part := buf[:n]
		for i := 0; i < min(n, step); {
			next := bytes.Index(part[i:], goMark)
			if next < 0 {
				break
			}
			if i += next; i%goAlign == 0 {
				if pkg, version, ok := parseGoBuild(part[i:]); ok {
					return pkg, version, nil
				}
			}
			i++
		}
		if err != nil {
			return "", "", errors.New("not built by Go, or without its record")
		}
	}
}

var goMark = []byte("\xff Go buildinf:")

const (
	goAlign    = 16
	goHeader   = 32      // the mark, the size of a pointer, flags, and room
	goInline   = 2       // of the flags: both strings follow the header
	maxGoBuild = 1 << 20 // a record with more in it is of no program that we know
)

// parseGoBuild reads one record: the version of Go, then the modules between
// two marks of 16 bytes.
func parseGoBuild(b []byte) (pkg, version string, ok bool) {
	if len(b) < goHeader || b[len(goMark)+1]&goInline == 0 {
		return "", "", false
	}
	b = b[goHeader:]
	var modules []byte
	for range 2 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return "", "", false
		}
		modules, b = b[n:n+int(size)], b[n+int(size):]
	}
	if len(modules) < 33 || modules[len(modules)-17] != '\n' {
		return "", "", false
	}
	for line := range strings.Lines(string(modules[16 : len(modules)-16])) {
		field := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case field[0] == "path" && len(field) == 2:
			pkg = field[1]
		case field[0] == "mod" && len(field) >= 3:
			version = field[2]
		}
	}
	return pkg, version, pkg != ""
}
