package worker

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// Identity identifies a process for good: its number may be reused, but its
// start time is unique within a boot, and the boot id tells boots apart. No
// settable clock is part of it.
type Identity struct {
	PID   int      `json:"pid"`
	Start uint64   `json:"start"` // as in process.Process
	Boot  string   `json:"boot"`
	Args  []string `json:"args,omitempty"`
}

// Presence is the known state of a process.
type Presence string

// A process exists, is gone, or is hidden from us.
const (
	Here    Presence = "here"
	Gone    Presence = "gone"
	Unknown Presence = "unknown"
)

// Self returns the identity of this process.
func Self(t process.Table) (Identity, error) { return identify(t, t.Self()) }

func identify(t process.Table, pid int) (Identity, error) {
	p, err := t.Read(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := bootID()
	return Identity{PID: pid, Start: p.Start, Boot: boot, Args: p.Args}, err
}

// Presence checks whether the process exists. If another process has its number,
// it is gone; if the number is hidden from us, its state is unknown.
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

// mayBeSignalled returns why the process must not get a signal.
func (id Identity) mayBeSignalled(t process.Table) error {
	switch id.Presence(t) {
	case Gone:
		return os.ErrProcessDone
	case Unknown:
		return fmt.Errorf("process %d: %w", id.PID, ErrNotOurs)
	}
	return nil
}

// signalByNumber signals on systems that cannot hold a process: its number could
// be reused between the check and the signal.
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
