package start

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema"
)

// initializer writes the first files of a spec and reports them.
type initializer struct {
	*cli.App
	places        place.Places
	written, kept []string
	next          string
	applies       bool     // the command goes on to apply the spec
	dry           bool     // nothing is written
	specs         [][]byte // that would be
	notes         []string // printed before the list of files
}

// writeNew writes files into dir, which it creates if missing. It keeps existing files.
func (s *initializer) writeNew(dir string, files map[string][]byte) error {
	return s.write(dir, files, func(string) bool { return false })
}

// vendorSchema updates the schema beside the host specs. It keeps a person's module
// file.
func (s *initializer) vendorSchema() error {
	return s.write(filepath.Join(s.places.Config, "cue.mod"), schema.Files(), func(name string) bool { return strings.HasPrefix(name, "pkg/") })
}

// write writes files below dir. It replaces existing files only if ours.
func (s *initializer) write(dir string, files map[string][]byte, ours func(name string) bool) error {
	p := s.places
	disk, err := fsys.New(fsys.Options{Tag: "init", Home: fsys.LogicalPath(p.Physical(p.Home)), UID: p.UID, GID: p.GID, Chown: p.Chown})
	if err != nil {
		return err
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := fsys.LogicalPath(dir).Join(name)
		old, err := disk.ReadFile(path)
		expect := fsys.Expect{Digest: fsys.Digest(old)}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			expect = fsys.Expect{Absent: true}
		case err == nil && bytes.Equal(old, files[name]) && ours(name):
			continue
		case err == nil && ours(name):
		case err == nil:
			s.kept = append(s.kept, string(path))
			continue
		default:
			return err
		}
		if s.written = append(s.written, string(path)); s.dry {
			if !vendored(string(path)) {
				s.specs = append(s.specs, files[name])
			}
			continue
		}
		if _, err := disk.MkdirAll(path.Dir(), 0o755); err != nil {
			return err
		}
		if err := disk.Replace(path, fsys.Content{Bytes: files[name]}, expect, nil); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	if s.dry {
		return nil
	}
	return disk.Flush()
}

// vendored reports whether path is of the schema beside the specs.
func vendored(path string) bool { return strings.Contains(path, "/cue.mod/") }

// report prints the written and the kept files, and what to do next.
func (s *initializer) report() error {
	if s.Flags.JSON {
		return s.WriteJSON(struct {
			FormatVersion string   `json:"format_version"`
			Written       []string `json:"written"`
			Kept          []string `json:"kept"`
		}{cli.ViewVersion, cli.OrEmpty(s.written), cli.OrEmpty(s.kept)})
	}
	cwd, err := s.Cwd()
	if err != nil {
		return err
	}
	for _, line := range s.notes {
		s.Printf("%s\n", termtext.Safe(line))
	}
	wrote := "wrote"
	if s.dry {
		wrote = "would write"
	}
	for _, text := range s.specs {
		s.Printf("%s\n", termtext.SafeLines(string(text)))
	}
	for _, f := range s.written {
		if !vendored(f) {
			s.Printf("%s %s\n", wrote, termtext.Safe(s.places.Short(cwd, f)))
		}
	}
	if slices.ContainsFunc(s.written, vendored) {
		s.Printf("%s %s: the schema, for cue vet and editors\n", wrote, termtext.Safe(s.places.Short(cwd, filepath.Join(s.places.Config, "cue.mod"))))
	}
	for _, f := range s.kept {
		if !vendored(f) {
			s.Printf("kept  %s: it exists already\n", termtext.Safe(s.places.Short(cwd, f)))
		}
	}
	if s.next != "" && !s.dry {
		s.Hint("%s", s.next)
	}
	return nil
}
