package start

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/reconcile/fsys"
)

// write writes the bundle, then the spec that names it. It keeps an existing file of
// the bundle and adds it to found.Kept.
func (im *importing) write(texts map[string][]byte) error {
	p := im.places
	disk, err := fsys.New(fsys.Options{Tag: "import", Home: fsys.LogicalPath(p.Physical(p.Home)), UID: p.UID, GID: p.GID, Chown: p.Chown})
	if err != nil {
		return err
	}
	for _, f := range im.found.Files {
		if err := im.writeNew(disk, fsys.LogicalPath(im.bundle).Join(f.Path), f.Text, f.Mode); err != nil {
			return err
		}
	}
	if im.edit != nil {
		if err := disk.Flush(); err != nil {
			return err
		}
		return im.edit.Write(texts)
	}
	for name, text := range texts {
		if err := im.writeNew(disk, fsys.LogicalPath(name), text, 0o644); err != nil {
			return err
		}
	}
	return disk.Flush()
}

func (im *importing) writeNew(disk fsys.FS, name fsys.LogicalPath, text []byte, mode fs.FileMode) error {
	old, err := disk.ReadFile(name)
	switch {
	case err == nil && (bytes.Equal(old, text) || sameFile(string(name), text)):
		return nil
	case err == nil:
		im.found.Kept = append(im.found.Kept, gather.Kept{Path: im.short(string(name)), Why: "exists, and differs from what was imported"})
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := disk.MkdirAll(name.Dir(), 0o755); err != nil {
		return err
	}
	if err := disk.Replace(name, fsys.Content{Bytes: text, Mode: mode}, fsys.Expect{Absent: true}, nil); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	im.written = append(im.written, string(name))
	return nil
}

// pending counts the files of the bundle and the specs that write would write.
func (im *importing) pending(texts map[string][]byte) (files, specs int) {
	for _, f := range im.found.Files {
		if _, err := os.Lstat(filepath.Join(im.bundle, filepath.FromSlash(f.Path))); errors.Is(err, fs.ErrNotExist) {
			files++
		}
	}
	for name, text := range texts {
		if old, err := os.ReadFile(name); err != nil || !bytes.Equal(old, text) {
			specs++
		}
	}
	return files, specs
}

// sameFile reports whether the file at name holds text, or as settings the same
// values.
func sameFile(name string, text []byte) bool {
	old, err := os.ReadFile(name)
	switch {
	case err != nil:
		return false
	case bytes.Equal(old, text):
		return true
	}
	return filepath.Base(name) == "settings.json" && gather.SameSettings(old, text)
}
