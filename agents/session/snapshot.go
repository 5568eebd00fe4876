package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
)

// Snapshot copies a file into a new folder below temp, for the time of a pass
// over the whole file, and returns the copy.
func Snapshot(root, file, temp string, now time.Time) (string, error) {
	from, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0) // never wait for a pipe without a writer
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("snapshot: %s is not a file", file)
	}
	dir, err := os.MkdirTemp(temp, "aisync-"+identity.FileName(project.Name(root))+"-"+now.Format("20060102-150405")+"-")
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
