package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// linkNew renames in two steps, where the file system has no better way: it
// links the new name, which fails if it exists, and removes the old one; of
// concurrent callers the one that removes the old name has renamed the file.
// Calling it again completes a rename that a crash left with both names.
func linkNew(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, fs.ErrExist) && same(from, to) {
		err = nil
	}
	if err != nil {
		return err
	}
	err = os.Remove(from)
	if errors.Is(err, fs.ErrNotExist) && names(to) > 1 { // another process has given it another name
		if err2 := os.Remove(to); err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
			return fmt.Errorf("%w; %w", err, err2)
		}
	}
	return err
}

// names returns the number of names of a file; 0 if it does not exist.
func names(path string) uint64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Nlink)
}

func same(a, b string) bool {
	x, err1 := os.Lstat(a)
	y, err2 := os.Lstat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
