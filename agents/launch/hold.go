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

// Names that are held lie beside the contexts, as files that nothing reads: a
// launcher keeps its agent's name locked for as long as that runs, so that no
// two agents begin under one name before either has written anything.
const (
	held    = project.Contexts + "/.launch"
	primary = "%primary" // no id looks like it
	windows = "%windows"
)

// ErrHeld says that a name is another launcher's.
var ErrHeld = errors.New("an agent of that name runs already")

// Hold is a name that is ours until Release or the end of the process.
type Hold struct {
	lock *os.File
	path string
}

// HoldID takes an agent's id; "" is the primary's place. ErrHeld: somebody has it.
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
		// Other users of the project look at it; NFS locks what may be written alone.
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
		if err == nil { // its last holder may have removed the file between our opening and locking it
			same, err = filelock.Current(f, path)
		}
		if same {
			return &Hold{f, path}, nil
		}
		_ = filelock.Unlock(f)
		switch {
		case err == nil: // a file that is gone
		case !errors.Is(err, filelock.ErrBusy):
			return nil, fmt.Errorf("hold the name %s: %w", name, err)
		default:
			if looks++; looks > 3 {
				return nil, ErrHeld
			}
			time.Sleep(5 * time.Millisecond) // Held locks for a moment
		}
	}
}

// Release gives the name back.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	_ = os.Remove(h.path)       // while it is locked; one that stays is only never given again
	_ = filelock.Unlock(h.lock) // the end of the process does it as well
}

// Held reports whether a launcher holds the name of an agent; "" is the primary.
func Held(root, id string) bool {
	if id == "" {
		id = primary
	}
	path := filepath.Join(root, held, id)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer filelock.Unlock(f) // it was only looked at
	return errors.Is(filelock.Try(f, filelock.Shared), filelock.ErrBusy)
}

// Reserve makes an id that nobody has or gets: make is one of identity's, and
// taken reports what else is in use. The id stays reserved until a Hold of it
// is released.
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

// Unreserve gives back an id that nobody came to hold.
func Unreserve(root, id string) { _ = os.Remove(filepath.Join(root, held, id)) }
