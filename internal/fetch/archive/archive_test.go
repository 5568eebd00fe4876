package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var limits = Limits{Files: 100, Bytes: 1 << 20}

// entry is one of a tar.
type entry struct {
	name, body string
	typ        byte
	mode       int64
	link       string
}

func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.typ, Mode: e.mode, Linkname: e.link, Size: int64(len(e.body))}
		if e.typ == tar.TypeXGlobalHeader { // as git archive writes it
			h = &tar.Header{Typeflag: e.typ, PAXRecords: map[string]string{"comment": e.name}}
		}
		if e.typ == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.mode == 0 && e.typ != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		must(t, w.WriteHeader(h))
		_, err := w.Write([]byte(e.body))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unpack puts b into a folder of its own.
func unpack(t *testing.T, b []byte, ending string, l Limits) (string, error) {
	t.Helper()
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "packed"), filepath.Join(dir, "out")
	must(t, os.WriteFile(src, b, 0o644))
	err := Unpack(dst, src, ending, l)
	entries, rerr := os.ReadDir(dir)
	must(t, rerr)
	if len(entries) > 2 {
		t.Errorf("something was made beside %s: %v", dst, entries)
	}
	return dst, err
}

func TestEveryKindOfArchiveGivesTheSameFiles(t *testing.T) {
	plain := tarOf(t, entry{name: "0123abcd", typ: tar.TypeXGlobalHeader}, entry{name: "./rules/", typ: tar.TypeDir, mode: 0o755},
		entry{name: "rules/a.md", body: "one\r\ntwo"}, entry{name: "hooks/x.sh", body: "#!/bin/sh\n", mode: 0o4755},
		entry{name: "old", typ: tar.TypeSymlink, link: "rules"})
	var gz, zst, zipped bytes.Buffer
	g := gzip.NewWriter(&gz)
	_, err := g.Write(plain)
	must(t, errors.Join(err, g.Close()))
	z, err := zstd.NewWriter(&zst)
	must(t, err)
	_, err = z.Write(plain)
	must(t, errors.Join(err, z.Close()))
	w := zip.NewWriter(&zipped)
	for _, e := range []struct {
		name, body string
		mode       fs.FileMode
	}{{"rules/a.md", "one\r\ntwo", 0o644}, {"hooks/x.sh", "#!/bin/sh\n", 0o755}, {"old", "rules", 0o777 | fs.ModeSymlink}} {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		must(t, err)
		_, err = f.Write([]byte(e.body))
		must(t, err)
	}
	must(t, w.Close())
	for ending, b := range map[string][]byte{"tar": plain, "tar.gz": gz.Bytes(), "tgz": gz.Bytes(), "tar.zst": zst.Bytes(), "zip": zipped.Bytes()} {
		dst, err := unpack(t, b, ending, limits)
		if err != nil {
			t.Errorf("%s: %v", ending, err)
			continue
		}
		if got, err := os.ReadFile(filepath.Join(dst, "old/a.md")); err != nil || string(got) != "one\r\ntwo" {
			t.Errorf("%s: %q, %v", ending, got, err)
		}
		if info, err := os.Stat(filepath.Join(dst, "hooks/x.sh")); err != nil || info.Mode() != 0o755 {
			t.Errorf("%s: %v, %v", ending, info, err)
		}
	}
}

func TestArchiveErrorsNameEntry(t *testing.T) {
	for name, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"a parent":               {[]entry{{name: "../x", body: "x"}}, `"../x" leads out`},
		"a hidden parent":        {[]entry{{name: "a/../../x", body: "x"}}, "leads out"},
		"an absolute name":       {[]entry{{name: "/etc/x", body: "x"}}, `"/etc/x": name must be a relative path`},
		"a name of Windows":      {[]entry{{name: `..\x`, body: "x"}}, "must be a relative path"},
		"a device":               {[]entry{{name: "dev", typ: tar.TypeBlock}}, `"dev" is not a file`},
		"a pipe":                 {[]entry{{name: "pipe", typ: tar.TypeFifo}}, `"pipe" is not a file`},
		"a hard link":            {[]entry{{name: "a", body: "x"}, {name: "b", typ: tar.TypeLink, link: "a"}}, `"b" is a hard link`},
		"a link out":             {[]entry{{name: "a/l", typ: tar.TypeSymlink, link: "../../x"}}, "leads out"},
		"an absolute link":       {[]entry{{name: "l", typ: tar.TypeSymlink, link: "/etc"}}, "leads out"},
		"a file through a link":  {[]entry{{name: "l", typ: tar.TypeSymlink, link: "d"}, {name: "l/x", body: "x"}}, "file exists"},
		"names of another case":  {[]entry{{name: "rules/A.md", body: "x"}, {name: "rules/a.md", body: "y"}}, `"rules/A.md" and "rules/a.md" differ only in case`},
		"folders of another one": {[]entry{{name: "Rules/a.md", body: "x"}, {name: "rules/b.md", body: "y"}}, "differ only in case"},
		"one name twice":         {[]entry{{name: "a", body: "x"}, {name: "a", body: "y"}}, "duplicate entry"},
		"a deep folder":          {[]entry{{name: strings.Repeat("a/", 65) + "x", body: "x"}}, "has a name of 131 bytes and 65 folders"},
		"a name without end":     {[]entry{{name: strings.Repeat("a/", 400_000) + "x", body: "x"}}, "400000 folders"},
		"nothing":                {nil, "empty"},
		"too much":               {[]entry{{name: "a", body: strings.Repeat("x", 1<<20)}, {name: "b", body: "x"}}, "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpack(t, tarOf(t, c.entries...), "tar", limits)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	var many []entry
	for i := range 101 {
		many = append(many, entry{name: string(rune('A'+i/26)) + "/" + string(rune('a'+i%26)), body: "x"})
	}
	if _, err := unpack(t, tarOf(t, many...), "tar", limits); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too many entries: %v", err)
	}
}

// A zip says itself how much will come out of it, and may lie.
func TestAZipBombStopsAtTheLimitWhateverItSays(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("bomb")
	must(t, err)
	_, err = f.Write(make([]byte, 8<<20))
	must(t, errors.Join(err, w.Close()))
	for _, said := range []uint32{8 << 20, 10} {
		doc := bytes.Clone(b.Bytes())
		at := bytes.Index(doc, []byte("PK\x01\x02")) // the central directory, which readers go by
		binary.LittleEndian.PutUint32(doc[at+24:], said)
		dst, err := unpack(t, doc, "zip", limits)
		if !errors.Is(err, ErrTooLarge) && said != 10 || err == nil {
			t.Errorf("said %d: %v", said, err)
		}
		if info, err := os.Stat(filepath.Join(dst, "bomb")); err == nil && info.Size() > limits.Bytes+1 {
			t.Errorf("said %d: %d bytes were written", said, info.Size())
		}
	}
}
