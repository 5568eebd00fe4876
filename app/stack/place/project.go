package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/safedir"
)

// Project returns the folder named, which must hold a spec, or otherwise the
// nearest one from cwd upwards that does; "" if there is none.
func Project(cwd, named string) (string, error) {
	if named != "" {
		dir, err := ExistingFolder(cwd, named)
		if err == nil {
			if _, statErr := os.Stat(filepath.Join(dir, SpecFile)); statErr != nil {
				err = fmt.Errorf("%s has no %s", dir, SpecFile)
			}
		}
		if err != nil {
			return "", &InputError{"project", err}
		}
		return dir, nil
	}
	dir, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, SpecFile)); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", nil
		}
		dir = up
	}
}

// CheckOwner returns an error if the spec or the lock of the project is not a
// regular file, or if they or the folder belong to another user and neither
// Safe nor Options.User allows that: then it wraps a *safedir.Foreign.
func (p Places) CheckOwner(o Options) error {
	for _, name := range []string{SpecFile, LockFile} {
		at := filepath.Join(p.Project, name)
		info, err := os.Stat(at)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = regular.Check(at, info, regular.MaxSpec)
		}
		if err != nil {
			return err
		}
	}
	if o.AnyOwner && o.Project != "" {
		return nil
	}
	u := safedir.User{UID: os.Geteuid(), Also: -1, Sudo: o.Env.Get("SUDO_UID"), Safe: o.Safe}
	if o.User != "" {
		u.Also = p.UID
	}
	return u.Check(p.Project, SpecFile, LockFile)
}

// ExistingFolder makes dir absolute and resolves links, so that one folder has
// one name. A missing folder is a MissingError.
func ExistingFolder(cwd, dir string) (string, error) {
	dir = Absolute(cwd, dir)
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", MissingError(dir)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return resolved, err
}

// Absolute is dir as seen from cwd, without .. in it.
func Absolute(cwd, dir string) string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cwd, dir)
	}
	return filepath.Clean(dir)
}

// MissingError is a named folder that does not exist.
type MissingError string

func (m MissingError) Error() string { return string(m) + " does not exist" }

// Is makes it an fs.ErrNotExist.
func (m MissingError) Is(target error) bool { return target == fs.ErrNotExist }
