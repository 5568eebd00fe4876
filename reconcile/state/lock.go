package state

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"

	"aisync.dev/aisync/reconcile/fsys"
)

// Holder is who holds the lock of a state folder.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Command string    `json:"command"`
}

// HeldError says that another apply is on its way.
type HeldError struct {
	Holder
	Inside bool // this process was started by the holder
}

func (e *HeldError) Error() string {
	who := "another aisync"
	if e.PID != 0 {
		who = fmt.Sprintf("%s (pid %d on %s, since %s)", e.Command, e.PID, e.Host, e.Since.Local().Format("15:04:05"))
	}
	if e.Inside {
		return fmt.Sprintf("%s started this command and holds the lock; inside an apply only commands that read can run", who)
	}
	return fmt.Sprintf("%s holds the lock; wait for it, or give --lock-timeout 1m", who)
}

// PIDVariable tells what an apply starts that it is inside of one.
const PIDVariable = "AISYNC_APPLY_PID"

// Held is the lock of a state folder, held until Release or the process ends.
type Held struct{ lock *flock.Flock }

// Lock waits up to timeout for the lock of the folder and says in it who holds
// it. A holder that died holds nothing.
func (d *Dir) Lock(ctx context.Context, w fsys.FS, timeout time.Duration, me Holder) (*Held, error) {
	if _, err := w.MkdirAll(d.base, 0o700); err != nil {
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	f, err := w.OpenPart(d.LockFile())
	if err != nil {
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	defer f.Close()
	path, err := w.Physical(d.LockFile())
	if err != nil {
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	l := flock.New(path)
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got, err := l.TryLock()
	if err == nil && !got && timeout > 0 {
		got, err = l.TryLockContext(wait, 50*time.Millisecond)
		if wait.Err() != nil && ctx.Err() == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	if !got {
		held := &HeldError{}
		if b, err := w.ReadFile(d.LockFile()); err == nil {
			_ = json.Unmarshal(b, &held.Holder) // half written: nobody is named
		}
		held.Inside = held.PID != 0 && os.Getenv(PIDVariable) == fmt.Sprint(held.PID)
		return nil, held
	}
	b, err := json.Marshal(me)
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt(append(b, '\n'), 0)
		}
	}
	if err != nil {
		l.Unlock()
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	return &Held{l}, nil
}

// Release gives the lock back.
func (h *Held) Release() error { return h.lock.Unlock() }
