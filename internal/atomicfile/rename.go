package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// linkNew renames in two steps, where the file system has no better way: the
// new name is made only if it is not there, and of several that do so at once
// the one has renamed which takes the old name away. What a crash between the
// two left, both names, is brought to its end by doing it again.
func linkNew(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, fs.ErrExist) && same(from, to) {
		err = nil
	}
	if err != nil {
		return err
	}
	err = os.Remove(from)
	if errors.Is(err, fs.ErrNotExist) && names(to) > 1 { // another has renamed it, to another name
		if err2 := os.Remove(to); err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
			return fmt.Errorf("%w; %w", err, err2)
		}
	}
	return err
}

// names is how many names a file has; 0 where there is none.
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
