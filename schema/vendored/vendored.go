// Package vendored compares CUE packages that lie in a module with those that should be
// there. It writes nothing. Call Compare.
package vendored

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/regular"
)

// Compare compares the packages in folder, below a cue.mod folder, with want: a line for
// each missing, changed or extra file, because CUE would read an extra file as part of
// the package. Present is false, without lines, if nothing is vendored. It removes from
// want what it finds.
func Compare(cueMod, folder string, want map[string][]byte) (present bool, differs []string, err error) {
	base := filepath.Join(cueMod, filepath.FromSlash(folder))
	if _, err := os.Stat(base); os.IsNotExist(err) {
		return false, nil, nil
	}
	err = filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(cueMod, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		text, err := regular.Read(path, regular.MaxSpec)
		if err != nil {
			return err
		}
		switch ours, ok := want[name]; {
		case ok && string(ours) != string(text):
			differs = append(differs, name+" is changed")
		case !ok && strings.HasSuffix(name, ".cue"):
			differs = append(differs, name+" is not part of it")
		}
		delete(want, name)
		return nil
	})
	if err != nil {
		return true, nil, fmt.Errorf("read vendored schema: %w", err)
	}
	for name := range want {
		differs = append(differs, name+" is missing")
	}
	slices.Sort(differs)
	return true, differs, nil
}
