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

// ReadContent returns the text with that digest, where aisync wrote it last
// and still has it: a base for diffs and merges, never the truth.
func (d *Dir) ReadContent(name, digest string) ([]byte, bool) {
	f, err := d.r.Open(d.contents(name))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return nil, false
	}
	entry, err := z.Open(digest)
	if err != nil {
		return nil, false
	}
	defer entry.Close()
	b, err := io.ReadAll(entry)
	return b, err == nil && fsys.Digest(b) == digest
}

// WriteContents keeps of name's texts those in keep, and adds others by their
// digest. What cannot be read of the old ones is dropped: they are a comfort.
func (d *Dir) WriteContents(w fsys.FS, name string, add map[string][]byte, keep map[string]bool) error {
	p := d.contents(name)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	had := map[string]bool{}
	expect := fsys.Expect{Absent: true}
	old, err := w.ReadFile(p)
	switch {
	case err == nil:
		expect = fsys.Expect{Digest: fsys.Digest(old)}
		if r, err := zip.NewReader(bytes.NewReader(old), int64(len(old))); err == nil {
			for _, f := range r.File {
				if keep[f.Name] && !had[f.Name] && z.Copy(f) == nil {
					had[f.Name] = true
				}
			}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for _, digest := range slices.Sorted(maps.Keys(add)) {
		if had[digest] || !keep[digest] {
			continue
		}
		f, err := z.CreateHeader(&zip.FileHeader{Name: digest, Method: zip.Store})
		if err != nil {
			return fmt.Errorf("write %s: %w", p, err)
		}
		if _, err := f.Write(add[digest]); err != nil {
			return fmt.Errorf("write %s: %w", p, err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write %s: %w", p, err)
	}
	if _, err := w.MkdirAll(p.Dir(), 0o700); err != nil {
		return err
	}
	return w.Replace(p, fsys.Content{Bytes: out.Bytes(), Mode: 0o600}, expect, nil)
}
