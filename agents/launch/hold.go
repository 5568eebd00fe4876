package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/internal/filelock"
)

// Held names lie beside the contexts, as files that only the launchers use: a
// launcher locks its agent's name while the agent runs, so that two agents never
// start under one name before either has written anything.
const (
	held    = project.Contexts + "/.launch"
	primary = "%primary" // no valid id equals it
	windows = "%windows"
)

// ErrHeld reports a name that another launcher holds.
var ErrHeld = errors.New("an agent of that name runs already")

// Hold is a name reserved until Release or the end of the process.
type Hold struct {
	lock *os.File
	path string
}

// HoldID reserves an agent's id; "" is the primary. It returns ErrHeld if
// another launcher holds it.
func HoldID(root, id string) (*Hold, error) {
	name := id
	if id == "" {
		name = primary
	}
	return hold(root, name, false)
}

func hold(root, name string, wait bool) (*Hold, error) {
	path := filepath.Join(root, held, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("hold the name %s: %w", name, err)
	}
	for looks := 0; ; {
		// Other users of the project read it; NFS locks only files that are open
		// for writing.
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
		if errors.Is(err, fs.ErrPermission) {
			f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
		}
		if err != nil {
			return nil, fmt.Errorf("hold the name %s: %w", name, err)
		}
		if wait {
			err = filelock.Wait(context.Background(), f, filelock.Exclusive)
		} else {
			err = filelock.Try(f, filelock.Exclusive)
		}
		same := false
		if err == nil { // its previous holder may have removed the file between opening and locking
			same, err = filelock.Current(f, path)
		}
		if same {
			return &Hold{f, path}, nil
		}
		_ = filelock.Unlock(f)
		switch {
		case err == nil: // the file was removed
		case !errors.Is(err, filelock.ErrBusy):
			return nil, fmt.Errorf("hold the name %s: %w", name, err)
		default:
			if looks++; looks > 3 {
				return nil, ErrHeld
			}
			time.Sleep(5 * time.Millisecond) // Held keeps the lock for a moment
		}
	}
}

// Release releases the name.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	_ = os.Remove(h.path)       // while it is locked; a file that stays only blocks its name
	_ = filelock.Unlock(h.lock) // the end of the process releases it too
}

// Held reports whether a launcher holds an agent's name; "" is the primary.
func Held(root, id string) bool {
	if id == "" {
		id = primary
	}
	path := filepath.Join(root, held, id)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer filelock.Unlock(f) // only to look
	return errors.Is(filelock.Try(f, filelock.Shared), filelock.ErrBusy)
}

// Reserve returns a new id that no other process gets: make is one of identity's
// functions, and taken reports the ids in use. The id stays reserved until a
// Hold of it is released.
func Reserve(root string, taken func(string) bool, make func(taken func(string) bool) string) (string, error) {
	dir := filepath.Join(root, held)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("reserve an id: %w", err)
	}
	for {
		id := make(func(id string) bool {
			_, err := os.Lstat(filepath.Join(dir, id))
			return err == nil || taken(id)
		})
		if err := identity.Check(id); err != nil {
			return "", err
		}
		f, err := os.OpenFile(filepath.Join(dir, id), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		switch {
		case err == nil:
			return id, f.Close()
		case !errors.Is(err, fs.ErrExist):
			return "", fmt.Errorf("reserve an id: %w", err)
		}
	}
}

// Unreserve frees a reserved id that was never held.
func Unreserve(root, id string) { _ = os.Remove(filepath.Join(root, held, id)) }
