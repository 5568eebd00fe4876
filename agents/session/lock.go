package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/reconcile/fsys"
)

// Folders beside the contexts that are not contexts.
const (
	locks    = project.Contexts + "/.locks"
	leftOver = project.Contexts + "/.left" // rests of a crashed edit
)

// lockOfContexts is the lock for creating or replacing a context.
const lockOfContexts = project.Contexts

// patience bounds the wait for a lock. Its holder writes a small file; only a
// stopped process holds it longer.
const patience = 60 * time.Second

// ErrBusy reports a lock that was not released in time.
var ErrBusy = errors.New("another process holds the lock")

// wait waits until no other process holds f, or patience ends.
func wait(f *os.File) error {
	err := filelock.WaitFor(patience, f, filelock.Exclusive)
	if errors.Is(err, filelock.ErrBusy) {
		return fmt.Errorf("%s: %w for %s", f.Name(), ErrBusy, patience)
	}
	return err
}

// locked runs do while no other process of ours changes the shared file of that
// name in the project. The end of a process releases its lock.
func locked(root, name string, do func() error) error {
	dir := filepath.Join(root, locks)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of locks: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, identity.FileName(name)), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	defer f.Close()
	if err := wait(f); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	return do()
}

// publish creates a file with its content in one step. It reports false if the
// file exists.
func publish(path, text string) (bool, error) {
	err := atomicfile.Create(path, []byte(text), atomicfile.Options{Mode: 0o644, Temp: tempMark + "*"})
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("make %s: %w", path, err)
	}
	return true, nil
}

const tempMark = ".context-"

// sweep removes temporary files that a crash of publish left in a folder at
// least an hour ago.
func sweep(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); strings.HasPrefix(e.Name(), tempMark) && err == nil && now.Sub(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name())) // the next sweep tries again
		}
	}
}

// tries bounds the attempts of a change against programs that write the file
// without our lock. Each starts from their text.
const tries = 20

// change replaces the file of that name by the result of next, and returns the
// new text. The caller holds the file's lock. If another program changes the
// file meanwhile, change calls next again on its text.
func change(root, name string, next func(old string) (string, error)) (string, error) {
	disk, err := fsys.New(fsys.Options{Project: root})
	if err != nil {
		return "", err
	}
	for try := 1; ; try++ {
		old, err := disk.ReadFile(fsys.LogicalPath(name))
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		text, err := next(string(old))
		if err != nil || text == string(old) {
			return text, err
		}
		err = replace(root, name, fsys.Content{Bytes: []byte(text)}, fsys.Expect{Digest: fsys.Digest(old)})
		if err == nil {
			return text, nil
		}
		if !errors.Is(err, fsys.ErrChanged) || errors.Is(err, fsys.ErrBlocked) || try == tries {
			return "", fmt.Errorf("write %s: %w", name, err)
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
}

// replace writes a file of the project in one step if it is as expected. The
// caller holds its lock, so a file under the temporary name is from a crash:
// half a new file, or the old one. It is moved aside, not lost.
func replace(root, name string, content fsys.Content, expect fsys.Expect) error {
	const tag = "session"
	disk, err := fsys.New(fsys.Options{Project: root, Tag: tag})
	if err != nil {
		return err
	}
	path := fsys.LogicalPath(name)
	for _, left := range []fsys.LogicalPath{fsys.TempName(path, tag), fsys.AsideName(path, tag)} {
		if _, err := disk.Lstat(left); err != nil {
			continue
		}
		if _, err := disk.MkdirAll(leftOver, 0o755); err != nil {
			return err
		}
		to := fsys.LogicalPath(fmt.Sprintf("%s/%s-%d", leftOver, identity.FileName(name), time.Now().UnixNano()))
		if err := disk.Move(left, to); err != nil {
			return fmt.Errorf("move a crashed edit aside: %w", err)
		}
	}
	if err := disk.Replace(path, content, expect, nil); err != nil {
		return err
	}
	return disk.Flush()
}
