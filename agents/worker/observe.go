package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/filelock"
)

// State is the observable state of a worker.
type State string

// States. None depends on how long something takes.
const (
	Absent  State = "absent"  // never started
	Waiting State = "waiting" // started, but no keeper has its ticket
	Running State = "running" // it lives, or is hidden from us
	Ended   State = "ended"   // Exit says how
	Lost    State = "lost"    // it is gone without a recorded end: killed, or the machine went down
	Void    State = "void"    // called off before it ran
)

// Observation is the state of a worker at one moment.
type Observation struct {
	State  State
	Job    *Job
	Ticket *Ticket
	Ready  *Ready
	Asks   *Asks // a question of the command that waits for an answer
	Exit   *Exit
	Stop   *Request // to end before its command did
	Keeper Presence // of the keeper's process; "" without one
	Held   bool     // its lock is held: the keeper or a process that it started lives, or did a moment ago
}

// String describes the observation in words.
func (o Observation) String() string {
	switch o.State {
	case Running:
		switch {
		case o.Keeper == Here && o.Asks != nil:
			return fmt.Sprintf("waiting for an answer to %q as process %d", o.Asks.Text, o.Ticket.Keeper.PID)
		case o.Keeper == Here:
			return fmt.Sprintf("running as process %d", o.Ticket.Keeper.PID)
		case o.Keeper == Unknown:
			return fmt.Sprintf("process %d is hidden from this user", o.Ticket.Keeper.PID)
		}
		return fmt.Sprintf("its keeper, process %d, is gone, but a process that it started still runs", o.Ticket.Keeper.PID)
	case Ended:
		switch {
		case o.Exit.Error != "":
			return o.Exit.Error
		case o.Exit.Signal != "":
			return "ended by a signal: " + o.Exit.Signal
		}
		return fmt.Sprintf("ended with code %d", o.Exit.Code) + o.left()
	case Lost:
		return "gone without a recorded end"
	case Void:
		return "called off before it ran: " + o.Ticket.Void
	case Waiting:
		return "started, no report yet"
	}
	return "not started"
}

// left names what the command left running.
func (o Observation) left() string {
	if len(o.Exit.Left) == 0 {
		return ""
	}
	return ", and what it left running was ended: " + strings.Join(o.Exit.Left, ", ")
}

// Gone reports whether nothing of the worker's handle is left.
func (o Observation) Gone() bool { return o.State != Running && (o.Keeper == "" || o.Keeper == Gone) }

// Observe returns the state of the worker in a folder. It writes nothing. It
// returns an error if the files are invalid or another worker's: then its state
// is unknown.
func Observe(t process.Table, folder, marker string) (Observation, error) {
	o := Observation{State: Absent}
	var j Job
	begun, err := load(folder, startFile, &j, func() string { return j.Marker }, marker)
	if err != nil {
		return o, err
	}
	if begun {
		o.Job = &j
	}
	if o.Stop, err = requested(folder, marker); err != nil {
		return o, err
	}
	var ticket Ticket
	taken, err := load(folder, ticketFile, &ticket, func() string { return ticket.Marker }, marker)
	switch {
	case err != nil:
		return o, err
	case !taken && begun:
		o.State = Waiting
		return o, nil
	case !taken:
		return o, nil
	}
	o.Ticket = &ticket
	if ticket.Void != "" {
		o.State = Void
		return o, nil
	}
	if ticket.Keeper == nil || !begun {
		return o, fmt.Errorf("%s: names neither the worker's keeper and command nor a reason to call it off", filepath.Join(folder, ticketFile))
	}
	var ready Ready
	if is, err := load(folder, readyFile, &ready, func() string { return ready.Marker }, marker); err != nil {
		return o, err
	} else if is {
		o.Ready = &ready
	}
	var asks Asks
	if is, err := load(folder, asksFile, &asks, func() string { return asks.Marker }, marker); err != nil {
		return o, err
	} else if is {
		o.Asks = &asks
	}
	var said Asks
	if is, err := load(folder, saidFile, &said, func() string { return said.Marker }, marker); err != nil {
		return o, err
	} else if is && !said.At.Before(asks.At) {
		o.Asks = nil
	}
	// The keeper takes its lock before its ticket and writes its end before it
	// exits: in this order of checks, a worker that is gone without an end has
	// none.
	if o.Held, err = held(folder); err != nil {
		return o, err
	}
	o.Keeper = ticket.Keeper.Presence(t)
	var exit Exit
	ended, err := load(folder, endFile, &exit, func() string { return exit.Marker }, marker)
	switch {
	case err != nil:
		return o, err
	case ended:
		o.State, o.Exit = Ended, &exit
		if o.Stop != nil && exit.At.Before(o.Stop.At) {
			o.Stop = nil // it came too late
		}
	case o.Keeper == Gone && !o.Held:
		o.State = Lost
	default:
		o.State = Running
	}
	return o, nil
}

// load reads a file of the worker with a marker. Call it before using its
// fields.
func load(folder, name string, into any, has func() string, marker string) (bool, error) {
	there, err := read(folder, name, into)
	if err == nil && there && has() != marker {
		err = fmt.Errorf("%s belongs to another worker: %w", filepath.Join(folder, name), ErrNotOurs)
	}
	return there, err
}

func openLock(folder string, flag int) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, lockFile), flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

// held reports whether any process has the worker's lock.
func held(folder string) (bool, error) {
	f, err := openLock(folder, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	switch err := filelock.Try(f, filelock.Shared); {
	case err == nil:
		return false, nil // closing releases it
	case errors.Is(err, filelock.ErrBusy):
		return true, nil
	default:
		return false, fmt.Errorf("look at the lock of the worker: %w", err)
	}
}
