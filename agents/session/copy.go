package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/reconcile/fsys"
)

// copyMark begins the first line of the copy for old tools: the agent's id and
// the digest of the text after the line.
const copyMark = "#+AISYNC_COPY_OF: "

// singletonCopy is the file under the singleton's name, where it is such a copy.
type singletonCopy struct {
	id     string // "": the file is missing, or the primary's
	text   []byte // the whole file
	edited bool   // its text was changed
}

func readCopy(root string) (singletonCopy, error) {
	path := filepath.Join(root, project.Singleton)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return singletonCopy{}, nil
	}
	if err != nil {
		return singletonCopy{}, err
	}
	if !info.Mode().IsRegular() {
		return singletonCopy{}, fmt.Errorf("%s: %w; move it away", path, ErrLink)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return singletonCopy{}, nil
	}
	if err != nil {
		return singletonCopy{}, fmt.Errorf("read %s: %w", path, err)
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	mark, ok := strings.CutPrefix(first, copyMark)
	words := strings.Fields(mark)
	if !ok || len(words) == 0 {
		return singletonCopy{}, nil
	}
	return singletonCopy{words[0], text, len(words) != 2 || words[1] != fsys.Digest([]byte(rest))}, nil
}

// Copied returns the id of the agent whose context is copied under the
// singleton's name; "" where the singleton is missing or the primary's.
func Copied(root string) (string, error) {
	s, err := readCopy(root)
	return s.id, err
}

// DropCopy removes the copy for old tools before a primary starts. It keeps a
// file that is no copy, and refuses a link.
func DropCopy(root string, now time.Time) error {
	if id, err := Copied(root); err != nil || id == "" {
		return err
	}
	return locked(root, lockOfContexts, func() error { return Context{Root: root}.dropCopy(now) })
}

// dropCopy removes the copy, if there is one. It archives text that was written
// to it.
func (c Context) dropCopy(now time.Time) error {
	s, err := readCopy(c.Root)
	if err != nil || s.id == "" {
		return err
	}
	if s.edited {
		edited := Context{c.Root, s.id, filepath.Join(c.Root, project.Singleton)}
		if _, err := edited.archive("edited copy", now); err != nil {
			return fmt.Errorf("archive the text of the copy: %w", err)
		}
		return nil
	}
	if err := os.Remove(filepath.Join(c.Root, project.Singleton)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the copy %s: %w", project.Singleton, err)
	}
	return nil
}

// SyncCopy gives old tools a read-only copy of a context under the singleton's
// name while exactly one agent with an id and no primary is there, and removes
// it otherwise. An agent with an id never writes that name: for one (writes
// false) an outdated copy is only removed. A file that the primary or another
// program puts there stays.
func SyncCopy(root string, writes bool) error {
	if _, err := os.Lstat(filepath.Join(root, project.Contexts)); errors.Is(err, fs.ErrNotExist) {
		return nil // no agent with an id was ever here
	}
	return locked(root, lockOfContexts, func() error {
		ids, err := IDs(root)
		if err != nil {
			return err
		}
		there, err := readCopy(root)
		if err != nil {
			return err
		}
		singleton := filepath.Join(root, project.Singleton)
		if _, err := os.Lstat(singleton); err == nil && there.id == "" {
			return nil // the primary's
		}
		if len(ids) != 1 || !writes || there.edited {
			if there.id == "" || len(ids) == 1 && isFileOf(ids[0], there.id) && !there.edited {
				return nil
			}
			return Context{Root: root}.dropCopy(time.Now())
		}
		text, err := os.ReadFile(byFile(root, ids[0]).Path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		next := []byte(copyMark + identity.FileName(ids[0]) + " " + fsys.Digest(text) + "\n" + string(text))
		if string(next) == string(there.text) {
			return nil
		}
		expect := fsys.Expect{Absent: true}
		if there.id != "" {
			expect = fsys.Expect{Digest: fsys.Digest(there.text)}
		}
		err = replace(root, project.Singleton, fsys.Content{Bytes: next, Mode: 0o444}, expect)
		if errors.Is(err, fsys.ErrChanged) {
			return nil // another program's file stays
		}
		return err
	})
}
