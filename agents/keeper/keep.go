package keeper

import (
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/filelock"
)

// renewal is how often a keeper dates its record, for file systems on which the
// other processes do not see its lock, and looks whether its files are there.
const renewal = time.Minute

// Holding is the lock of an agent's record, held until Release or the end of
// this process.
type Holding struct {
	root, name string
	lock       *os.File
	renewed    time.Time
	turns      watch
}

// Hold records an agent and holds its lock in this process, which is the parent
// of the agent's program and stays as long. It returns nil without an error if a
// keeper holds it already.
func Hold(t process.Table, root string, a Agent) (*Holding, error) {
	name, err := note(t, root, a)
	if err != nil {
		return nil, fmt.Errorf("record the agent: %w", err)
	}
	return hold(root, name, a)
}

func hold(root, name string, a Agent) (*Holding, error) {
	file := path.Join(root, Dir, name+lockEnding)
	for tries := 0; ; tries++ {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
		if err != nil {
			return nil, err
		}
		err = filelock.Try(f, filelock.Exclusive)
		if err == nil {
			var same bool
			if same, err = filelock.Current(f, file); same {
				return &Holding{root, name, f, time.Now(), watch{seat: a.Seat, pid: a.PID}}, nil
			}
		}
		_ = filelock.Unlock(f)
		switch {
		case err != nil && !errors.Is(err, filelock.ErrBusy):
			return nil, err
		case tries == 3: // a reader keeps the lock for a moment only
			return nil, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Renew dates the record, at most once a minute, and has a stalled turn of the agent
// reported.
func (h *Holding) Renew() {
	if h != nil {
		h.turns.look(h.root, time.Now())
	}
	if h != nil && time.Since(h.renewed) >= renewal {
		_ = renew(h.root, h.name) // the lock tells, too
		h.renewed = time.Now()
	}
}

// Release removes the record: its agent has ended.
func (h *Holding) Release() {
	if h == nil {
		return
	}
	if h.turns.seat != "" {
		_ = Rests(h.root, h.turns.seat)
	}
	_ = remove(h.root, h.name)
	_ = filelock.Unlock(h.lock)
}

// Keep is the keeper of the record name in root: it holds the lock until the
// agent's process ends and then removes the record. It returns the exit code of
// its process: 0 also where another keeper holds the lock.
func Keep(root, name string) int {
	t := process.System()
	r, _, err := read(root, name)
	if err != nil || !Here(t).Shows(r.Place) {
		return 1
	}
	h, err := hold(root, name, r.Agent)
	if err != nil {
		return 1
	}
	if h == nil {
		return 0
	}
	for await(t, r.PID, r.Start, h.turns.next(root, time.Now())) {
		h.Renew()
		if same, err := filelock.Current(h.lock, path.Join(root, Dir, name+lockEnding)); same || err != nil {
			continue
		}
		// The files were removed, by git clean for instance. Where the project is
		// there still, its agent is too.
		_ = filelock.Unlock(h.lock)
		if _, err := os.Stat(root); err != nil {
			return 0
		}
		if err := r.write(root, name); err != nil {
			return 1
		}
		if h, err = hold(root, name, r.Agent); err != nil || h == nil {
			return 1
		}
	}
	h.Release()
	return 0
}
