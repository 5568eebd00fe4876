package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/safedir"
	"aisync.dev/aisync/schema/nested"
)

// Project returns the folder named, or otherwise the nearest one from cwd upwards,
// that holds a spec; "" if there is none. Where that spec extends the one of a
// folder above, the project is the nearest one upwards whose spec extends none,
// and from is the folder that the search began with.
func Project(cwd, named string) (dir, from string, err error) {
	if named != "" {
		if dir, err = ExistingFolder(cwd, named); err == nil && !hasSpec(dir) {
			err = fmt.Errorf("%s has no %s", dir, SpecFile)
		}
		if err != nil {
			return "", "", &InputError{"project", err}
		}
	} else if dir, err = filepath.EvalSymlinks(cwd); err != nil {
		return "", "", fmt.Errorf("find the project: %w", err)
	}
	for !hasSpec(dir) {
		up := filepath.Dir(dir)
		if up == dir {
			return "", "", nil
		}
		dir = up
	}
	return rootOf(dir)
}

func hasSpec(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, SpecFile))
	return err == nil
}

// Nested reports whether the spec in dir extends that of a folder above.
func Nested(dir string) bool { return extends(dir) != "" }

func extends(dir string) string {
	text, err := regular.Read(filepath.Join(dir, SpecFile), regular.MaxSpec)
	if err != nil {
		return "" // reading the project reports it
	}
	to, _, _ := nested.Extends(text) // reading the project reports the error
	return to
}

// rootOf returns the project that the spec in dir is of, and dir if it is another
// folder.
func rootOf(dir string) (root, from string, err error) {
	to := extends(dir)
	if to == "" {
		return dir, "", nil
	}
	for at := dir; ; {
		up := filepath.Dir(at)
		_, git := os.Lstat(filepath.Join(at, ".git"))
		if up == at || git == nil {
			break // the spec above belongs to another repository
		}
		if at = up; hasSpec(at) && !Nested(at) {
			if filepath.Join(dir, to) == at {
				return at, dir, nil
			}
			rel, err := filepath.Rel(dir, at)
			if err != nil {
				return "", "", err
			}
			return "", "", &NestedError{filepath.Join(dir, SpecFile), fmt.Sprintf("extends %q, but the project that this folder lies in is %s; write extends: %q", to, at, filepath.ToSlash(rel))}
		}
	}
	return "", "", &NestedError{filepath.Join(dir, SpecFile), fmt.Sprintf("extends %q, but no folder above in the same git work tree has an %s that extends none; leave out extends, or write one there: aisync init --here", to, SpecFile)}
}

// NestedError is a spec that extends another which is not the project's.
type NestedError struct{ File, Why string }

func (e *NestedError) Error() string { return e.File + ": " + e.Why }

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
	return p.owned(o)(p.Project, SpecFile, LockFile)
}

// owned returns a function that refuses files below a project, and the project's
// folder, that belong to another user, as CheckOwner does.
func (p Places) owned(o Options) func(project string, files ...string) error {
	if o.AnyOwner && o.Project != "" {
		return func(string, ...string) error { return nil }
	}
	u := safedir.User{UID: os.Geteuid(), Also: -1, Sudo: o.Env.Get("SUDO_UID"), Safe: o.Safe}
	if o.User != "" {
		u.Also = p.UID
	}
	return u.Check
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
