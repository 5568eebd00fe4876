// Package worldtest reads, for tests, the texts of others that may lie beside the
// repository. Call Texts.
package worldtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Texts calls each for the texts of the archives names, or of all if there is none
// named. beside is the way to the folder that the repository lies in. It skips the
// test where the archives are not there.
func Texts(t *testing.T, beside string, each func(archive, name string, text []byte), names ...string) {
	t.Helper()
	dir := filepath.Join(beside, "shared", "world")
	all, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil || len(all) == 0 {
		t.Skip("needs the texts of others, which lie beside the repository where they were fetched: ", dir)
	}
	if len(names) > 0 {
		all = nil
		for _, n := range names {
			all = append(all, filepath.Join(dir, n+".tar.gz"))
		}
	}
	for _, file := range all {
		if err := read(file, func(name string, text []byte) {
			each(filepath.Base(file[:len(file)-len(".tar.gz")]), name, text)
		}); err != nil {
			t.Fatal(file, ": ", err)
		}
	}
}

// read calls each for the texts in an archive.
func read(file string, each func(name string, text []byte)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg && bytes.IndexByte(text[:min(len(text), 8000)], 0) < 0 {
			each(h.Name, text)
		}
	}
}
