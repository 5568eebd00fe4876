// Package statearchive packs what aisync knows of a machine into one zip file,
// and unpacks it: records, journals of applies, what they replaced, answers to questions
// about effects. It leaves out models, keys of services, and what only the old machine
// has, such as logs. Call Pack and Unpack.
package statearchive

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Version is the format that Pack writes.
const Version = 1

// Head is the first entry of an archive.
type Head struct {
	FormatVersion int       `json:"format_version"`
	Aisync        string    `json:"aisync"` // the version that packed it
	Host          string    `json:"host"`   // its host name
	Home          string    `json:"home"`   // records name full paths below it
	Made          time.Time `json:"made"`
}

const headName = "aisync-state.json"

// parts are what is packed of the state folder: files and whole folders. The records
// come last, so that an unpacked part without them is nothing.
var parts = []string{"backups", "contents", "applies", "nights", "secrets.key", "id.json", "records"}

// Limits of what Unpack takes.
const (
	maxFiles = 1 << 20
	maxBytes = 16 << 30
)

// Summary counts what an archive has.
type Summary struct {
	Records int   `json:"records"` // owners: the host, and projects
	Applies int   `json:"applies"`
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
}

func (s *Summary) add(name string, size int64) {
	s.Files++
	s.Bytes += size
	switch first, _, _ := strings.Cut(name, "/"); first {
	case "records":
		s.Records++
	case "applies":
		s.Applies++
	}
}

// Pack writes the state in dir to w. The caller holds its lock, and no apply is
// unfinished.
func Pack(w io.Writer, dir string, h Head) (Summary, error) {
	var s Summary
	h.FormatVersion = Version
	z := zip.NewWriter(w)
	text, err := json.Marshal(h)
	if err != nil {
		return s, err
	}
	put := func(name string, body []byte, at time.Time) error {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at})
		if err == nil {
			_, err = f.Write(body)
		}
		return err
	}
	if err := put(headName, append(text, '\n'), h.Made); err != nil {
		return s, err
	}
	for _, part := range parts {
		err := filepath.WalkDir(filepath.Join(dir, part), func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") { // a temporary file
				return err
			}
			body, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			if err != nil {
				return err
			}
			s.add(filepath.ToSlash(rel), int64(len(body)))
			return put(filepath.ToSlash(rel), body, info.ModTime())
		})
		if err != nil {
			return s, err
		}
	}
	return s, z.Close()
}

// ErrNoArchive means that a file is no archive of a state, or a damaged one.
var ErrNoArchive = errors.New("no archive of aisync's state, or a damaged one")

// Unpack unpacks an archive of size bytes into dir, which is empty, once check agrees
// to its head. On an error, dir may hold a part of it.
func Unpack(r io.ReaderAt, size int64, dir string, check func(Head) error) (Head, Summary, error) {
	var h Head
	var s Summary
	z, err := zip.NewReader(r, size)
	if err != nil {
		return h, s, fmt.Errorf("%w: %v", ErrNoArchive, err)
	}
	if len(z.File) == 0 || len(z.File) > maxFiles {
		return h, s, ErrNoArchive
	}
	if h, err = head(z.File[0]); err == nil {
		err = check(h)
	}
	if err != nil {
		return h, s, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return h, s, err
	}
	defer root.Close()
	for _, f := range z.File[1:] {
		first, _, below := strings.Cut(f.Name, "/")
		size := int64(min(f.UncompressedSize64, maxBytes+1))
		switch {
		case !f.Mode().IsRegular(), !filepath.IsLocal(f.Name), path.Clean(f.Name) != f.Name, !slices.Contains(parts, first), below == strings.Contains(first, "."):
			return h, s, fmt.Errorf("%w: it has %q", ErrNoArchive, f.Name)
		case s.Bytes+size > maxBytes:
			return h, s, fmt.Errorf("%w: it is larger than a state can be", ErrNoArchive)
		}
		if err := extract(root, f); err != nil {
			return h, s, err
		}
		s.add(f.Name, size)
	}
	return h, s, nil
}

// head reads the first entry.
func head(f *zip.File) (Head, error) {
	var h Head
	if f.Name != headName || f.UncompressedSize64 > 1<<20 {
		return h, ErrNoArchive
	}
	text, err := content(f)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	switch {
	case err != nil:
		return h, fmt.Errorf("%w: %v", ErrNoArchive, err)
	case h.FormatVersion > Version:
		return h, fmt.Errorf("it was made by aisync %s, in format %d, and this aisync knows up to %d: upgrade aisync", h.Aisync, h.FormatVersion, Version)
	}
	return h, nil
}

// content reads an entry, which fails if its checksum does not match.
func content(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func extract(root *os.Root, f *zip.File) error {
	text, err := content(f)
	if err != nil {
		return fmt.Errorf("%w: %s: %v", ErrNoArchive, f.Name, err)
	}
	if err := root.MkdirAll(path.Dir(f.Name), 0o700); err != nil {
		return err
	}
	if err := root.WriteFile(f.Name, text, 0o600); err != nil {
		return err
	}
	return root.Chtimes(f.Name, f.Modified, f.Modified)
}

// Present returns the folders of a state that have something an archive would bring.
func Present(dir string) ([]string, error) {
	var found []string
	for _, part := range parts {
		entries, err := os.ReadDir(filepath.Join(dir, part))
		if strings.Contains(part, ".") || errors.Is(err, fs.ErrNotExist) { // a file alone says nothing of this machine
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			found = append(found, part)
		}
	}
	return found, nil
}

// Move moves an unpacked state from dir into the state folder to, in which Present
// finds nothing.
func Move(dir, to string) error {
	for _, part := range parts {
		_ = os.Remove(filepath.Join(to, part)) // an empty folder
		if err := os.Rename(filepath.Join(dir, part), filepath.Join(to, part)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
