package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/project"
)

// Intent is one edit of a shared file, before it is made.
type Intent struct{ File, Heading, What string }

// Journal appends an intent to the context's journal and syncs it: after a
// crash the journal says what was under way. The context must have been
// started.
func (c Context) Journal(i Intent, now time.Time) error {
	f, err := os.OpenFile(c.Path, os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the context of %s is not started: %s; run: aisync session start", c.Name(), c.Path)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	if err := flock(f); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	line := fmt.Sprintf("- [%s] %s :: %s :: %s\n", now.Format("2006-01-02 Mon 15:04:05"), oneLine(i.File), oneLine(i.Heading), oneLine(i.What))
	if torn, err := endsTorn(f); err != nil {
		return fmt.Errorf("journal: %w", err)
	} else if torn {
		line = "\n" + line
	}
	if _, err := f.WriteString(line); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return f.Sync()
}

func endsTorn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return last[0] != '\n', nil
}

// flock waits until no other process of ours holds f.
func flock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// locked runs change while no other process of ours edits the shared file of
// that name in the project.
func locked(root, name string, change func() error) error {
	dir := filepath.Join(root, project.Contexts, ".locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of locks: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, FileName(name)), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	defer f.Close()
	if err := flock(f); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	return change()
}

// Snapshot copies a file to a folder of its own below temp, for the time of a
// pass over the whole file, and returns the copy.
func Snapshot(root, file, temp string, now time.Time) (string, error) {
	from, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("snapshot: %s is no file", file)
	}
	dir, err := os.MkdirTemp(temp, "aisync-"+FileName(project.Name(root))+"-"+now.Format("20060102-150405")+"-")
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	to, err := os.OpenFile(filepath.Join(dir, filepath.Base(file)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return "", fmt.Errorf("snapshot %s: %w", file, err)
	}
	return to.Name(), nil
}
