// Package seat gives the agents of a project stable names: claude, codex, codex-2.
// An agent's id lives as long as its process; its seat stays when the program is
// started again, and with it the mail. The records of seats lie beside the
// contexts, outside the ledger, which knows no process. A seat whose agent may be
// alive is never given to another one. Call Room.Take, or Room.List.
package seat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/internal/regular"
)

// Records is the folder, below the project of a ledger, with the record NAME.json
// of each seat. The hooks add members for what they must remember of its agent.
const Records = project.Contexts + "/.hooks"

// Names that are no agent's seat.
const (
	Primary = "primary" // the project's primary, which has a seat besides
	All     = "all"     // every agent at work
)

// Task is the runtime of the seat of a process that carries out tasks. It reads no
// mail.
const Task = "task"

// maxRecord bounds a record, in bytes. The hooks' part lists claimed files.
const maxRecord = 16 << 20

// Seat is a name and the agent that has it, or had it last.
type Seat struct {
	Name string `json:"-"` // that of the record's file

	Runtime string `json:"runtime"`
	ID      string `json:"id,omitempty"` // the id of the agent, identity.VarID; "": it has none
	Session string `json:"session,omitempty"`
	Launch  string `json:"launch,omitempty"`  // identity.VarLaunch
	Primary bool   `json:"primary,omitempty"` // mail to Primary is for it
	MayLead bool   `json:"mayLead,omitempty"` // it becomes the primary where none is: it has no id and is no helper
	PID     int    `json:"pid,omitempty"`     // of the program; 0: not found
	Start   uint64 `json:"start,omitempty"`
	keeper.Place
	Kept  bool      `json:"kept,omitempty"` // it has, or had, a record of a keeper
	Since time.Time `json:"since,omitzero"` // when this agent took the seat
	Seen  time.Time `json:"seen"`           // its last hook
	Ended bool      `json:"ended,omitempty"`
}

// Inboxes returns the names whose mail is for the agent of s: the seat, the
// agent's id and, unless a person has that name, Primary.
func (s *Seat) Inboxes(person string) []string {
	out := []string{s.Name}
	if s.ID != "" && s.ID != s.Name {
		out = append(out, s.ID)
	}
	if s.Primary && s.Name != Primary && person != Primary {
		out = append(out, Primary)
	}
	return out
}

// is reports whether a process, which is not 0, is that of the seat's agent.
func (s *Seat) is(here keeper.Place, pid int, start uint64) bool {
	return pid != 0 && s.PID == pid && s.Start == start && here.Shows(s.Place)
}

// Room holds the seats of one project. It looks at the keepers' records once.
type Room struct {
	Table   process.Table
	Root    string // of the ledger
	Project string // of the keepers' records
	Now     time.Time

	looked  bool
	records keeper.Records
}

// At returns the seats of the ledger in root.
func At(t process.Table, root string, now time.Time) *Room {
	r := &Room{Table: t, Root: root, Project: root, Now: now}
	if p, err := project.Root(root); err == nil {
		r.Project = p
	}
	return r
}

// Here is the place of this process.
func (r *Room) Here() keeper.Place {
	r.look()
	return r.records.Here
}

func (r *Room) look() {
	if !r.looked {
		r.records, r.looked = keeper.Look(r.Table, r.Project), true
	}
}

// Refresh makes the next question look at the keepers' records again.
func (r *Room) Refresh() { r.looked = false }

// Life decides whether the agent of s is alive: by its keeper, by its process
// where that is visible, else by the time of its last hook.
func (r *Room) Life(s *Seat) keeper.Life {
	if s.Ended {
		return keeper.Gone
	}
	r.look()
	return r.records.Life(keeper.Known{Runtime: s.Runtime, Session: s.Session, PID: s.PID, Start: s.Start, Place: s.Place, Kept: s.Kept, Age: r.Now.Sub(s.Seen)})
}

// Path returns the file of the record of a seat.
func (r *Room) Path(name string) string { return path.Join(r.Root, Records, name+".json") }

// Bell returns the named pipe through which the agent of a seat is woken, where
// something stands between it and its client.
func (r *Room) Bell(name string) string { return path.Join(r.Root, Records, name+".wake") }

// Files returns the names of all records, in order.
func (r *Room) Files() ([]string, error) {
	entries, err := os.ReadDir(path.Join(r.Root, Records))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the seats: %w", err)
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && ledger.ValidAgent(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out) // without the ending, that is another order
	return out, nil
}

// Leader returns the seat of the primary: one whose agent may be alive and has that
// role, else the one that may lead and has been here longest; nil: none. So the role
// passes on with the end of the primary, however it ends.
func (r *Room) Leader(all []*Seat) (next *Seat) {
	for _, s := range all {
		if !s.Primary && !s.MayLead || r.Life(s) == keeper.Gone {
			continue
		}
		if s.Primary {
			return s
		}
		if next == nil || cmp.Or(s.Since.Compare(next.Since), strings.Compare(s.Name, next.Name)) < 0 {
			next = s
		}
	}
	return next
}

// List returns the seats, by name, those whose agents are gone included; Primary is
// that of Leader. Beside an error it returns those that it could read.
func (r *Room) List() ([]*Seat, error) {
	names, err := r.Files()
	errs := []error{err}
	var out []*Seat
	for _, name := range names {
		s := &Seat{Name: name}
		switch err := r.Read(name, s); {
		case err == nil:
			out = append(out, s)
		case !errors.Is(err, fs.ErrNotExist): // otherwise it was removed meanwhile
			errs = append(errs, err)
		}
	}
	if s := r.Leader(out); s != nil {
		s.Primary = true
	}
	return out, errors.Join(errs...)
}

// Read reads the record of a seat into a Seat, or into what holds one.
func (r *Room) Read(name string, into any) error {
	text, err := regular.Read(r.Path(name), maxRecord)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("read the seat %s: %w; remove %s if its agent has ended", name, err, r.Path(name))
	}
	return err
}

// Write stores the record of a seat. After a loss of power it may be missing: the
// next hook makes it anew.
func (r *Room) Write(name string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return atomicfile.Write(r.Path(name), append(text, '\n'), atomicfile.Options{Survives: atomicfile.Nothing})
}

// patience bounds the wait for the lock: its holder writes one small file.
const patience = 2 * time.Second

// locked runs do while no other process gives out seats in this project.
func (r *Room) locked(do func() error) error {
	dir := path.Join(r.Root, Records)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := filelock.WaitFor(patience, f, filelock.Exclusive); err != nil {
		return err
	}
	return do()
}

// Bind stores the process of the program that a launch started, unless a hook of
// that program has done so.
func (r *Room) Bind(name, launch string, pid int, start uint64) error {
	return r.change(name, launch, func(s *Seat) bool {
		unbound := s.Session == ""
		if unbound {
			s.PID, s.Start = pid, start
		}
		return unbound
	})
}

// Leave records that the agent of a launch has ended, whose seat is free then.
func (r *Room) Leave(name, launch string) error {
	return r.change(name, launch, func(s *Seat) bool { s.Ended = true; return true })
}

// change changes the record of a seat if its agent is still that of a launch.
func (r *Room) change(name, launch string, do func(*Seat) bool) error {
	return r.locked(func() error {
		s := &Seat{Name: name}
		if err := r.Read(name, s); err != nil || s.Launch != launch || launch == "" || !do(s) {
			return err
		}
		return r.Write(name, s)
	})
}

// first returns the first seat for which is holds; nil: none.
func first(all []*Seat, is func(*Seat) bool) *Seat {
	for _, s := range all {
		if is(s) {
			return s
		}
	}
	return nil
}

// Named returns the seat of a name, else that whose agent has it as its id; nil:
// none.
func Named(all []*Seat, name string) *Seat {
	s := first(all, func(s *Seat) bool { return s.Name == name })
	if s == nil && name != "" {
		s = first(all, func(s *Seat) bool { return s.ID == name })
	}
	return s
}

// Reader returns the seat whose agent reads the mail to a name, one whose agent may
// be alive before one that was primary or had that id; nil: none.
func (r *Room) Reader(all []*Seat, name, person string) *Seat {
	reads := func(s *Seat) bool { return slices.Contains(s.Inboxes(person), name) }
	if s := first(all, func(s *Seat) bool { return reads(s) && r.Life(s) != keeper.Gone }); s != nil {
		return s
	}
	return first(all, reads)
}

// Of returns the seat of a process that this one sees; nil: none.
func (r *Room) Of(all []*Seat, pid int, start uint64) *Seat {
	return first(all, func(s *Seat) bool { return s.is(r.Here(), pid, start) })
}

// Own returns the seat of the agent that started this process: that of the
// nearest process above with one, else what the environment tells; nil: none.
// session returns the id of the agent's session, "" where none is known; it may be
// nil.
func (r *Room) Own(all []*Seat, getenv func(string) string, session func() string) *Seat {
	if len(all) == 0 {
		return nil
	}
	for _, p := range process.Ancestors(r.Table, r.Table.Self()) {
		if s := r.Of(all, p.PID, p.Start); s != nil {
			return s
		}
	}
	own := ""
	if session != nil {
		own = session()
	}
	launch, id := getenv(identity.VarLaunch), strings.TrimSpace(getenv(identity.VarID))
	for _, is := range []func(*Seat) bool{
		func(s *Seat) bool { return own != "" && s.Session == own },
		func(s *Seat) bool { return launch != "" && s.Launch == launch },
		func(s *Seat) bool { return id != "" && s.ID == id },
	} {
		if s := first(all, func(s *Seat) bool { return !s.Ended && is(s) }); s != nil {
			return s
		}
	}
	return nil
}

// AtWork returns the seats whose agents are alive or may be, without the seat
// except, and only those of a runtime unless that is "".
func (r *Room) AtWork(all []*Seat, runtime, except string) (out []*Seat) {
	for _, s := range all {
		if s.Name != except && (runtime == "" && s.Runtime != Task || runtime == s.Runtime) && r.Life(s) != keeper.Gone {
			out = append(out, s)
		}
	}
	return out
}
