package worker

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// Identity names a process for good: its number is given again, the time at which
// it began is not while the machine runs, and the boot tells one run of the
// machine from the next. No clock that can be set is part of it.
type Identity struct {
	PID   int      `json:"pid"`
	Start uint64   `json:"start"` // as process.Process has it
	Boot  string   `json:"boot"`
	Args  []string `json:"args,omitempty"`
}

// Presence is what is known of a process now.
type Presence string

// A process is there, has gone, or cannot be looked at.
const (
	Here    Presence = "here"
	Gone    Presence = "gone"
	Unknown Presence = "unknown"
)

// Self is the identity of this process.
func Self(t process.Table) (Identity, error) { return identify(t, t.Self()) }

func identify(t process.Table, pid int) (Identity, error) {
	p, err := t.Read(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := bootID()
	return Identity{PID: pid, Start: p.Start, Boot: boot, Args: p.Args}, err
}

// Presence looks whether the process is there. Where another has its number, it
// is gone, and where the number is hidden from us, nothing is known.
func (id Identity) Presence(t process.Table) Presence {
	boot, err := bootID()
	switch {
	case err != nil:
		return Unknown
	case boot != id.Boot:
		return Gone
	}
	p, err := t.Read(id.PID)
	switch {
	case errors.Is(err, process.ErrGone):
		return Gone
	case err != nil || p.Start == 0:
		return Unknown
	case p.Start != id.Start:
		return Gone
	case len(id.Args) > 0 && len(p.Args) > 0 && !slices.Equal(p.Args, id.Args):
		return Gone // it runs another program now
	}
	return Here
}

// mayBeSignalled says why the process must not get a signal.
func (id Identity) mayBeSignalled(t process.Table) error {
	switch id.Presence(t) {
	case Gone:
		return os.ErrProcessDone
	case Unknown:
		return fmt.Errorf("process %d: %w", id.PID, ErrNotOurs)
	}
	return nil
}

// signalByNumber is for systems that cannot hold on to a process: between the
// look and the signal its number could be given again.
func (id Identity) signalByNumber(t process.Table, sig unix.Signal) error {
	if err := id.mayBeSignalled(t); err != nil {
		return err
	}
	err := unix.Kill(id.PID, sig)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
