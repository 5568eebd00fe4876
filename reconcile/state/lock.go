package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/reconcile/fsys"
)

// Holder is the holder of a state folder's lock.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Command string    `json:"command"`
}

// HeldError means that another apply is running.
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
	return fmt.Sprintf("%s holds the lock", who)
}

// Hint returns what to do next; "" within an apply, which cannot be waited for.
func (e *HeldError) Hint() string {
	if e.Inside {
		return ""
	}
	return advice.WaitForLock
}

// PIDVariable tells the programs that an apply starts that they run inside it.
const PIDVariable = "AISYNC_APPLY_PID"

// Held is the lock of a state folder, held until Release or the process ends.
type Held struct{ file *os.File }

// Lock waits up to timeout (0: not at all) for the lock of the folder and
// writes its holder into it. It returns a *HeldError if another holds it, and
// the error of ctx if that ends first. A dead holder holds nothing.
func (d *Dir) Lock(ctx context.Context, w fsys.FS, timeout time.Duration, me Holder) (*Held, error) {
	if _, err := w.MkdirAll(d.base, 0o700); err != nil {
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	f, err := w.OpenPart(d.LockFile()) // makes it, for the right user, and refuses a link
	if err != nil {
		return nil, fmt.Errorf("lock the state: %w", err)
	}
	if err := acquire(ctx, timeout, f); err != nil {
		_ = f.Close()
		return nil, err
	}
	h := &Held{f}
	if err := h.sign(me); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the state: %w", err), h.Release())
	}
	return h, nil
}

func acquire(ctx context.Context, timeout time.Duration, f *os.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := filelock.Try(f, filelock.Exclusive)
	if errors.Is(err, filelock.ErrBusy) && heldBy(f).gone() {
		// A program was killed while starting another: its child holds the lock
		// until it executes that program.
		timeout = max(timeout, 5*time.Second)
	}
	if errors.Is(err, filelock.ErrBusy) && timeout > 0 {
		wait, cancel := context.WithTimeoutCause(ctx, timeout, filelock.ErrBusy)
		defer cancel()
		if err = filelock.Wait(wait, f, filelock.Exclusive); err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	if errors.Is(err, filelock.ErrBusy) {
		return heldBy(f)
	}
	if err != nil {
		return fmt.Errorf("lock the state: %w", err)
	}
	return nil
}

// gone reports whether the holder was on this machine and has ended.
func (e *HeldError) gone() bool {
	host, err := os.Hostname()
	return err == nil && e.PID > 0 && e.Host == host && errors.Is(syscall.Kill(e.PID, 0), syscall.ESRCH)
}

func heldBy(f *os.File) *HeldError {
	held := &HeldError{}
	if json.NewDecoder(io.NewSectionReader(f, 0, 1<<16)).Decode(&held.Holder) != nil {
		held.Holder = Holder{} // half written: names no holder
	}
	held.Inside = held.PID != 0 && os.Getenv(PIDVariable) == strconv.Itoa(held.PID)
	return held
}

// sign writes in place: another file with that name would be another lock.
func (h *Held) sign(me Holder) error {
	b, err := json.Marshal(me)
	if err != nil {
		return err
	}
	if err := h.file.Truncate(0); err != nil {
		return err
	}
	_, err = h.file.WriteAt(append(b, '\n'), 0)
	return err
}

// Release releases the lock. The file stays, because others may wait for it.
func (h *Held) Release() error {
	return errors.Join(h.file.Truncate(0), filelock.Unlock(h.file))
}
