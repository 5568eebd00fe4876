// Package keeper tells which agents of a project are alive, also to a process
// that cannot see theirs: from within a sandbox, a container or another user's
// session. Each agent has a record below Dir. A keeper, one small process an
// agent, waits for the end of the agent's program and holds a lock, which all
// processes of one kernel see; each hook call dates the record besides. Judge
// decides from both. It evaluates no spec and reads no environment.
//
// A hook calls Start when a session begins, Renew at each event and End when the
// session ends; the launcher calls Hold. Readers call List.
package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/filelock"
)

// Agent is one agent at work in a project.
type Agent struct {
	ID      string `json:"id,omitempty"`   // "" is the primary
	Seat    string `json:"seat,omitempty"` // its stable name, as package seat gives it
	Runtime string `json:"runtime,omitempty"`
	Helper  bool   `json:"helper,omitempty"`
	Session string `json:"session,omitempty"` // the program's own id of its session
	Launch  string `json:"launch,omitempty"`  // identity.VarLaunch, where ai started it
	PID     int    `json:"pid,omitempty"`     // the program's process; 0 where the caller cannot see it
	Start   uint64 `json:"start,omitempty"`   // when that began; with PID it identifies the process
	UID     int    `json:"uid"`
	Cwd     string `json:"cwd,omitempty"`
}

// Command is the argument with which a program calls itself as a keeper:
// PROGRAM Command ROOT NAME.
const Command = "__live"

// Start records an agent of the project in root and dates the record. If program
// is not "" and the agent's process is known and has no keeper, it starts one:
// program with Command, which must call Keep. It does not wait for it: until the
// keeper holds its lock, the date of the record tells that the agent lives.
//
// An agent that ai started has a record already, by the process that ai
// started; Start completes that one.
func Start(t process.Table, root string, a Agent, program string) error {
	name, err := note(t, root, a)
	if err != nil {
		return fmt.Errorf("record this agent: %w", err)
	}
	if program == "" || a.PID == 0 || t.Namespace() == "" || locked(root, name) {
		return nil
	}
	p, err := spawn([]string{}, program, Command, root, name)
	if err != nil {
		return fmt.Errorf("start the keeper of this agent: %w", err)
	}
	return p.Release()
}

// spawn starts a program in a new session, without a terminal.
func spawn(env []string, program string, words ...string) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return os.StartProcess(program, append([]string{program}, words...), &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// Renew dates the record of an agent. It records the agent if it has no record
// or another session, and starts no keeper.
func Renew(t process.Table, root string, a Agent) error {
	r := record{Version: version, Agent: a, Place: Here(t)}
	name, err := r.name()
	if err == nil {
		var was record
		if was, _, err = read(root, name); err == nil && (a.Session == "" || was.Session == a.Session) {
			err = renew(root, name)
		}
		if err == nil && (a.Session == "" || was.Session == a.Session) {
			return nil
		}
	}
	return Start(t, root, a, "")
}

// End removes the record of an agent whose session ended, unless a keeper waits
// for its process, which may begin another session.
func End(t process.Table, root string, a Agent) error {
	name, err := record{Version: version, Agent: a, Place: Here(t)}.name()
	if err != nil || a.PID != 0 && presence(t, a.PID, a.Start) == Present || locked(root, name) {
		return err
	}
	return remove(root, name)
}

// note writes the record of an agent, or completes the one that it has, and
// returns its name. It removes records of agents that are gone.
func note(t process.Table, root string, a Agent) (string, error) {
	r := record{Version: version, Agent: a, Place: Here(t), Since: time.Now().UTC()}
	name, err := r.name()
	if err != nil {
		return "", err
	}
	all, err := names(root)
	if err != nil {
		return "", err
	}
	var above []process.Process
	if len(all) > 0 && a.PID != 0 {
		above = process.Ancestors(t, a.PID)
	}
	for _, other := range all {
		was, changed, err := read(root, other)
		if err != nil {
			continue // List reports it
		}
		same := other == name || r.Place.Shows(was.Place) && was.Launch != "" && was.Launch == a.Launch && (was.Session == "" || was.Session == a.Session) &&
			slices.ContainsFunc(above, func(p process.Process) bool { return p.PID == was.PID && p.Start == was.Start })
		if same {
			r.PID, r.Start, r.Since, name = was.PID, was.Start, was.Since, other
			r.Launch = max(a.Launch, was.Launch)
			if r.Session == "" {
				r.Session = was.Session
			}
			if r.Seat == "" {
				r.Seat = was.Seat
			}
			if r == was {
				return name, renew(root, name)
			}
			break
		}
		if judge(t, r.Place, root, other, was, changed) == Gone {
			_ = remove(root, other) // the next Start tries again
		}
	}
	return name, r.write(root, name)
}

// locked reports whether a keeper holds the lock of a record.
func locked(root, name string) bool {
	f, err := os.OpenFile(path.Join(root, Dir, name+lockEnding), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer filelock.Unlock(f) // only to look
	return errors.Is(filelock.Try(f, filelock.Shared), filelock.ErrBusy)
}

// judge collects the evidence on a record and decides.
func judge(t process.Table, here Place, root, name string, r record, changed time.Time) Life {
	e := Evidence{Locked: locked(root, name), Here: here, There: r.Place, Age: time.Since(changed)}
	if here.Shows(r.Place) {
		e.Process = presence(t, r.PID, r.Start)
	}
	if e.Process == Absent && t.Partial() == "" {
		e.Locked = false // its keeper is about to end
	}
	return Judge(e)
}

// Found is an agent that has a record.
type Found struct {
	Agent
	Place
	Name string    // of the record
	Life Life      // of its agent
	Seen time.Time // the last sign of life
}

// List returns the agents of the project in root that have a record, those that
// are gone included. Beside an error it returns those that it could read: then
// there may be others.
func List(t process.Table, root string) ([]Found, error) {
	all, err := names(root)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	here := Here(t)
	var out []Found
	var errs []error
	for _, name := range all {
		r, changed, err := read(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // it ended meanwhile
		case err != nil:
			errs = append(errs, err)
			continue
		}
		life := judge(t, here, root, name, r, changed)
		if life != Alive { // a keeper removes the record and then releases the lock
			if _, err := os.Lstat(path.Join(root, Dir, name+ending)); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		out = append(out, Found{r.Agent, r.Place, name, life, changed})
	}
	return out, errors.Join(errs...)
}

// Forget removes the record of an agent that a person found to have ended.
func Forget(root, name string) error { return remove(root, name) }
