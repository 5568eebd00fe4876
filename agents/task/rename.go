package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// renameOwn renames a file to a name that nobody but this process gives, and
// that is not there. It is one step on every file system.
func renameOwn(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

// linkNew renames in two steps, where the file system has no better way: the
// new name is made only if it is not there, and of several that do so at once
// the one has renamed which takes the old name away. What a crash between the
// two left, both names, is brought to its end by doing it again.
func linkNew(from, to string) error {
	err := os.Link(from, to)
	made := err == nil
	if errors.Is(err, fs.ErrExist) && same(from, to) {
		err = nil
	}
	if err != nil {
		return err
	}
	err = os.Remove(from)
	if errors.Is(err, fs.ErrNotExist) && made { // another has renamed it, to another name
		if err2 := os.Remove(to); err2 != nil {
			return fmt.Errorf("%w; %w", err, err2)
		}
	}
	return err
}

func same(a, b string) bool {
	x, err1 := os.Lstat(a)
	y, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
