package executor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/agents/task/policy"
)

// copied is the work tree as a program sees it: only what it may read, without
// git's folder.
type copied struct {
	from *os.Root // the work tree
	dir  string   // the copy
	was  map[string]fs.FileMode
}

// copyOut fills dir with the files of a work tree.
func copyOut(from *os.Root, files []string, dir string) (*copied, error) {
	c := &copied{from: from, dir: dir, was: map[string]fs.FileMode{}}
	for _, name := range files {
		info, err := from.Lstat(name)
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
		if !info.Mode().IsRegular() {
			continue // such as a link: its target is listed under its own name
		}
		b, err := readAll(from, name)
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, b, info.Mode().Perm()|0o200); err != nil {
			return nil, err
		}
		c.was[name] = info.Mode().Perm()
	}
	return c, nil
}

func readAll(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// maxCopied is the largest file that is copied back: no file of a repository
// that an agent writes is larger.
const maxCopied = 16 << 20

// copyBackAll copies the changes in the copy to the work tree, and returns them,
// sorted. It fails on anything but a plain file, and on a file of the work tree
// that was not shown.
func (c *copied) copyBackAll() (changed []string, err error) {
	copy, err := os.OpenRoot(c.dir)
	if err != nil {
		return nil, err
	}
	defer copy.Close()
	seen := map[string]bool{}
	err = fs.WalkDir(copy.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case policy.GitsOwn(path.Base(name)):
			return fmt.Errorf("the program made %s, which belongs to git", name)
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("the program made %s, which is not a plain file", name)
		}
		seen[name] = true
		differs, err := c.copyBack(copy, name, d)
		if differs {
			changed = append(changed, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for name := range c.was {
		if !seen[name] {
			if err := c.from.Remove(name); err != nil {
				return nil, err
			}
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// copyBack copies one file back, if it differs.
func (c *copied) copyBack(copy *os.Root, name string, d fs.DirEntry) (differs bool, err error) {
	info, err := d.Info()
	if err != nil {
		return false, err
	}
	if info.Size() > maxCopied {
		return false, fmt.Errorf("the program made %s of %d bytes; the limit is %d", name, info.Size(), maxCopied)
	}
	is, err := readAll(copy, name)
	if err != nil {
		return false, err
	}
	mode, shown := c.was[name]
	if shown {
		was, err := readAll(c.from, name)
		if err != nil {
			return false, err
		}
		executable := info.Mode().Perm()&0o100 != 0
		if bytes.Equal(was, is) && executable == (mode&0o100 != 0) {
			return false, nil
		}
		mode = mode &^ 0o111
		if executable {
			mode |= mode >> 2 & 0o111 // for the same users that may read it
		}
	} else {
		if _, err := c.from.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("the program wrote %s, which it may not read", name)
		}
		mode = 0o644 | info.Mode().Perm()&0o111
	}
	if err := c.from.MkdirAll(path.Dir(name), 0o755); err != nil {
		return false, err
	}
	if err := c.from.WriteFile(name, is, mode); err != nil {
		return false, err
	}
	return true, c.from.Chmod(name, mode)
}
