package state

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"aisync.dev/aisync/reconcile/fsys"
)

func (d *Dir) contents(name string) fsys.LogicalPath { return d.base.Join("contents", name+".zip") }

// pack is the texts of one name, as far as they were requested.
type pack struct {
	has   map[string]bool      // by digest
	files map[string]*zip.File // nil until one of them is read; its file then stays open
}

// ReadContent returns the text with that digest, if aisync last wrote it and
// still has it: a base for diffs and merges, never the truth.
func (d *Dir) ReadContent(name, digest string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.packs[name]
	if p == nil {
		p = &pack{has: map[string]bool{}}
		d.packs[name] = p
		if files, closes := d.openPack(name); files != nil {
			for digest := range files {
				p.has[digest] = true
			}
			closes() // a thousand projects have a thousand of them
		}
	}
	if !p.has[digest] {
		return nil, false
	}
	if p.files == nil {
		p.files, _ = d.openPack(name)
	}
	if p.files[digest] == nil {
		return nil, false
	}
	entry, err := p.files[digest].Open()
	if err != nil {
		return nil, false
	}
	defer entry.Close()
	b, err := io.ReadAll(entry)
	return b, err == nil && fsys.Digest(b) == digest
}

// openPack reads the index of name's texts once; a thousand of them are asked
// for one by one. The file stays open as long as the entries are in use.
func (d *Dir) openPack(name string) (files map[string]*zip.File, closes func()) {
	f, err := d.r.Open(d.contents(name))
	if err != nil {
		return nil, nil
	}
	if info, err := f.Stat(); err == nil {
		if z, err := zip.NewReader(f, info.Size()); err == nil {
			return byName(z), func() { _ = f.Close() }
		}
	}
	_ = f.Close()
	return nil, nil
}

func byName(z *zip.Reader) map[string]*zip.File {
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
	}
	return files
}

// WriteContents sets name's texts to add and those existing ones whose digests
// are in keep. It writes nothing if that changes nothing. An unreadable old
// file counts as empty: the texts are optional.
func (d *Dir) WriteContents(w fsys.FS, name string, add map[string][]byte, keep map[string]bool) error {
	p := d.contents(name)
	old, err := w.ReadFile(p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	expect := fsys.Expect{Absent: true}
	if err == nil {
		expect = fsys.Expect{Digest: fsys.Digest(old)}
	}
	there := map[string]*zip.File{}
	if z, err := zip.NewReader(bytes.NewReader(old), int64(len(old))); err == nil {
		there = byName(z)
	}
	had := len(there)
	maps.DeleteFunc(there, func(digest string, _ *zip.File) bool { return !keep[digest] })
	fresh := map[string][]byte{}
	for digest, b := range add {
		if keep[digest] && there[digest] == nil {
			fresh[digest] = b
		}
	}
	if len(fresh) == 0 && len(there) == had && (expect.Absent || had > 0) {
		return nil
	}
	b, err := packed(there, fresh)
	if err != nil {
		return fmt.Errorf("write %s: %w", p, err)
	}
	if bytes.Equal(b, old) {
		return nil
	}
	err = write(w, p, b, expect)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.packs, name) // the next reader opens the new file
	return err
}

// packed is a zip of both, sorted by digest; what was there is copied as it is.
func packed(there map[string]*zip.File, fresh map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, digest := range slices.Sorted(maps.Keys(there)) {
		if err := z.Copy(there[digest]); err != nil {
			return nil, err
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(fresh)) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: digest, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(fresh[digest]); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
