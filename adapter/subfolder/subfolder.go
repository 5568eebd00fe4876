// Package subfolder looks at a folder of a project that has rules for itself. It
// reads the disk and writes nothing. Call Look.
package subfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Encloses reports whether folder lies in the folder outer, or is it. Both are
// clean, with slashes; "" is the whole project.
func Encloses(outer, folder string) bool {
	return outer == "" || outer == folder || strings.HasPrefix(folder, outer+"/")
}

// Look returns a warning if rules for folder, below root, will not reach it yet:
// it is missing, a file, or a link within the project. A link out of the project
// is an error.
func Look(root, folder string) (warning string, err error) {
	dir := filepath.Join(root, filepath.FromSlash(folder))
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return folder + " is no folder of this project; its rules wait for one of that name", nil
	}
	if err != nil {
		return "", fmt.Errorf("folder %s: %w", folder, err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("folder %s is a link out of the project, to %s; name a folder inside", folder, real)
	}
	if rel = filepath.ToSlash(rel); rel != folder {
		return fmt.Sprintf("%s is a link to %s, and programs compare patterns with the path that they read: name %s", folder, rel, rel), nil
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return folder + " is a file; its rules wait for a folder of that name", nil
	}
	return "", nil
}
