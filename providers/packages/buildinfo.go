package packages

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
)

// What the Go linker writes into a program, as debug/buildinfo reads it: a header
// of 32 bytes, aligned to 16, then two texts with their lengths, Go's version and
// the module information between two marks of 16 bytes. debug/buildinfo finds it
// by parsing four formats of programs, which costs 300 kB of this one.
const (
	buildHeader  = 32
	buildAlign   = 16
	buildMark    = 16
	buildTexts   = 1 << 20 // more than both texts take
	buildInlined = 2       // a flag: the texts follow, as since Go 1.18
)

var buildMagic = []byte("\xff Go buildinf:")

// builtFrom returns the package that a Go program was built from, and the version
// of its module; "" for another file, or one that Go before 1.18 built.
func builtFrom(r io.Reader) (name, version string, err error) {
	const chunk = 4 << 20
	buf := make([]byte, 0, chunk+buildTexts)
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return "", "", err
		}
		for at := 0; ; at++ {
			i := bytes.Index(buf[at:], buildMagic)
			if at += i; i < 0 || !last && at > len(buf)-buildTexts {
				break
			}
			if at%buildAlign == 0 {
				if name, version = buildTextsOf(buf[at:]); name != "" {
					return name, version, nil
				}
			}
		}
		if last {
			return "", "", nil
		}
		keep := copy(buf, buf[(len(buf)-buildTexts)/buildAlign*buildAlign:])
		buf = buf[:keep]
	}
}

// buildTextsOf reads the package and the version behind a header.
func buildTextsOf(b []byte) (name, version string) {
	if len(b) < buildHeader || b[len(buildMagic)+1]&buildInlined == 0 {
		return "", ""
	}
	b = b[buildHeader:]
	text := func() []byte {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil
		}
		t := b[size : size+int(n)]
		b = b[size+int(n):]
		return t
	}
	if !bytes.HasPrefix(text(), []byte("go")) {
		return "", ""
	}
	info := text()
	if len(info) < 2*buildMark {
		return "", ""
	}
	for line := range strings.Lines(string(info[buildMark : len(info)-buildMark])) {
		switch f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); {
		case f[0] == "path" && len(f) > 1:
			name = f[1]
		case f[0] == "mod" && len(f) > 2:
			version = f[2]
		}
	}
	return name, version
}
