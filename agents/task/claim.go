package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/atomicfile"
)

// Claimant is the process that has claimed a task. It stands in the name of
// the file while the task runs, so that the one rename which claims says who:
// running/fix-docs@pearl.4711.98765.yaml.
type Claimant struct {
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // of the process, as package process tells it
}

// Here is this process.
func Here() Claimant {
	c := Claimant{Host: identity.Host(), PID: os.Getpid()}
	if p, err := process.System().Read(c.PID); err == nil {
		c.Start = p.Start
	}
	return c
}

// String is for people.
func (c Claimant) String() string {
	if c.PID == 0 {
		return "nobody knows whom"
	}
	return fmt.Sprintf("process %d on %s", c.PID, c.Host)
}

// Life is what can be told of a claimant.
type Life string

// Of another machine's processes, and of a file that names none, nothing is known.
const (
	Alive   Life = "alive"
	Gone    Life = "gone"
	Unknown Life = "unknown"
)

// Life looks for c among the processes of this machine, which is called host.
func (c Claimant) Life(host string, t process.Table) Life {
	if c.PID == 0 || c.Host != host {
		return Unknown
	}
	p, err := t.Read(c.PID)
	switch {
	case errors.Is(err, process.ErrGone), err == nil && p.Start != c.Start:
		return Gone
	case err != nil:
		return Unknown
	}
	return Alive
}

// claimName is the file's name while c has it, claimed takes it apart. Hosts
// hold no dots (identity.Host).
func claimName(base string, c Claimant) string {
	ext := filepath.Ext(base)
	return fmt.Sprintf("%s@%s.%d.%d%s", strings.TrimSuffix(base, ext), c.Host, c.PID, c.Start, ext)
}

func claimed(name string) (base string, c Claimant) {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	at := strings.LastIndexByte(stem, '@')
	if at < 1 {
		return name, Claimant{}
	}
	part := strings.Split(stem[at+1:], ".")
	if len(part) != 3 || part[0] == "" {
		return name, Claimant{}
	}
	pid, err1 := strconv.Atoi(part[1])
	start, err2 := strconv.ParseUint(part[2], 10, 64)
	if err1 != nil || err2 != nil || pid <= 0 {
		return name, Claimant{}
	}
	return stem[:at] + ext, Claimant{part[0], pid, start}
}

// ClaimOf takes the name of a running task's file apart: its own name, and who
// has it; the zero Claimant where the name does not tell.
func ClaimOf(name string) (base string, c Claimant) { return claimed(name) }

// ErrTaken says that somebody else was quicker: the file is no longer there.
var ErrTaken = errors.New("another executor has it")

// Claim makes a queued task, or one whose claimant has gone, this process's in
// one rename, so that of any number of executors one has it, and reads it once
// more: what is run is what was claimed. It returns ErrTaken where another was
// quicker. A file that is no task any more, or another one, is given back and
// is an error.
func (q Queue) Claim(i Item) (Item, error) {
	base, _ := claimed(filepath.Base(i.Path))
	got, err := q.rename(i, Running, claimName(base, q.Self))
	if err != nil {
		return i, err
	}
	got.By = q.Self
	if got.Task, got.Err = q.load(got.Path); got.Err == nil && got.Task.ID != i.Task.ID {
		got.Err = fmt.Errorf("%s: was task %s a moment ago, and is %s now", got.Path, i.Task.ID, got.Task.ID)
	}
	if got.Err != nil {
		_, err := q.GiveBack(got)
		return got, errors.Join(got.Err, err)
	}
	return got, nil
}

// Finish moves a claimed task to done or to failed.
func (q Queue) Finish(i Item, s State) (Item, error) { return q.move(i, s) }

// GiveBack puts a claimed task into its queue again.
func (q Queue) GiveBack(i Item) (Item, error) { return q.move(i, Queued) }

// Abandoned are the tasks of a project whose executor is no longer alive. Who
// wants to do something about one claims it first.
func (q Queue) Abandoned(project string, t process.Table) ([]Item, error) {
	items, err := q.read(nil, project, Running)
	if err != nil {
		return nil, err
	}
	var out []Item
	for _, i := range items {
		if i.By.Life(q.Self.Host, t) == Gone {
			out = append(out, i)
		}
	}
	return out, nil
}

// move renames a task into the folder of a state, under its own name. A file
// of that name there, an earlier run's, stays: the new one gets a number.
func (q Queue) move(i Item, s State) (Item, error) {
	base, _ := claimed(filepath.Base(i.Path))
	ext := filepath.Ext(base)
	name := base
	for n := 2; ; n++ {
		got, err := q.rename(i, s, name)
		if !errors.Is(err, fs.ErrExist) {
			return got, err
		}
		name = fmt.Sprintf("%s.%d%s", strings.TrimSuffix(base, ext), n, ext)
	}
}

// rename moves a task's file and replaces nothing: that is fs.ErrExist. That
// it is gone is ErrTaken.
func (q Queue) rename(i Item, s State, name string) (Item, error) {
	to := filepath.Join(q.Folder(i.Project, s), name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return i, fmt.Errorf("move task %s: %w", i.Name(), err)
	}
	do := atomicfile.RenameNew
	if s == Running { // the name says who, and so is nobody else's
		do = renameOwn
	}
	err := do(i.Path, to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return i, fmt.Errorf("task %s: %w", i.Name(), ErrTaken)
	case err != nil:
		return i, fmt.Errorf("move task %s: %w", i.Name(), err)
	}
	i.Path, i.State, i.By = to, s, Claimant{}
	return i, nil
}

// renameOwn renames a file to a name that nobody but this process gives, and
// that is not there. It is one step on every file system.
func renameOwn(from, to string) error {
	if _, err := os.Lstat(from); err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}
