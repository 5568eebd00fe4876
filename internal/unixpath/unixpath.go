// Package unixpath is path/filepath for Unix, for packages that answer early: that one
// begins after much else of the program (see cmd/aisync/quick). It imports nothing of
// ours. Its functions are those of the same names.
package unixpath

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// Base is path.Base.
func Base(name string) string { return path.Base(name) }

// Clean is path.Clean.
func Clean(name string) string { return path.Clean(name) }

// Dir is path.Dir.
func Dir(name string) string { return path.Dir(name) }

// Ext is path.Ext.
func Ext(name string) string { return path.Ext(name) }

// IsAbs is path.IsAbs.
func IsAbs(name string) bool { return path.IsAbs(name) }

// Join is path.Join.
func Join(names ...string) string { return path.Join(names...) }

// Abs returns the absolute path of name, clean, by the working folder.
func Abs(name string) (string, error) {
	if path.IsAbs(name) {
		return path.Clean(name), nil
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return path.Join(here, name), nil
}

// IsLocal reports whether a path stays below the folder that it is relative to, by
// its words alone.
func IsLocal(name string) bool {
	if name == "" || path.IsAbs(name) {
		return false
	}
	name = path.Clean(name)
	return name != ".." && !strings.HasPrefix(name, "../")
}

// Rel returns target relative to base. Of the two, both are absolute or none is.
func Rel(base, target string) (string, error) {
	base, target = path.Clean(base), path.Clean(target)
	if base == target {
		return ".", nil
	}
	if base == "." {
		base = ""
	}
	if target == "." {
		target = ""
	}
	if path.IsAbs(base) != path.IsAbs(target) {
		return "", fmt.Errorf("%s is not relative to %s", target, base)
	}
	from, to := names(base), names(target)
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	up := make([]string, len(from))
	for i, name := range from {
		if up[i] = ".."; name == ".." {
			return "", fmt.Errorf("%s is not relative to %s", target, base)
		}
	}
	return strings.Join(append(up, to...), "/"), nil
}

func names(clean string) []string {
	return strings.FieldsFunc(clean, func(c rune) bool { return c == '/' })
}

// mostLinks bounds the links in one path, like the kernel.
const mostLinks = 40

// EvalSymlinks resolves every link of a path. One that is relative stays so, unless a
// link is absolute.
func EvalSymlinks(name string) (string, error) {
	done, todo, root := "", name, ""
	if path.IsAbs(name) {
		root = "/"
	}
	for links := 0; todo != ""; {
		var next string
		next, todo, _ = strings.Cut(todo, "/")
		switch {
		case next == "" || next == ".":
			continue
		case next == ".." && root == "" && (done == "" || path.Base(done) == ".."):
			done = path.Join(done, "..")
			continue
		case next == "..":
			if done = path.Dir("/" + done)[1:]; done == "." {
				done = ""
			}
			continue
		}
		at := path.Join(done, next)
		to, err := os.Readlink(cmp.Or(root+at, "."))
		switch {
		case errors.Is(err, syscall.EINVAL): // not a link
			done = at
			continue
		case err != nil:
			return "", err
		}
		if links++; links > mostLinks {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: syscall.ELOOP}
		}
		if path.IsAbs(to) {
			done, root = "", "/"
		}
		todo = to + "/" + todo
	}
	return cmp.Or(root+done, "."), nil
}

// WalkDir walks a tree, and follows no link.
func WalkDir(root string, do fs.WalkDirFunc) error {
	info, err := os.Lstat(root)
	if err == nil && info.IsDir() {
		return fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
			return do(path.Join(root, name), d, err)
		})
	}
	if err != nil {
		err = do(root, nil, err)
	} else {
		err = do(root, fs.FileInfoToDirEntry(info), nil)
	}
	if err == fs.SkipDir || err == fs.SkipAll {
		return nil
	}
	return err
}
