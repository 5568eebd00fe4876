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

// Claimant is the process that claimed a task. The task's file name contains it
// while the task runs, so that the one rename that claims also records the
// claimant: running/fix-docs@pearl.4711.98765.yaml.
type Claimant struct {
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // of the process, as in package process
}

// Here returns this process.
func Here() Claimant { return here(identity.Host(), process.System()) }

// here returns the process of t. In a sandbox or container its number means
// nothing to processes outside, and theirs nothing to it: the PID namespace is then
// a part of the host's name, so that neither judges the other.
func here(host string, t process.Table) Claimant {
	if t.Partial() != "" {
		host += "-" + strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return r
			}
			return -1
		}, t.Namespace())
	}
	c := Claimant{Host: host, PID: t.Self()}
	if p, err := t.Read(c.PID); err == nil {
		c.Start = p.Start
	}
	return c
}

// String is for people.
func (c Claimant) String() string {
	if c.PID == 0 {
		return "an unknown process"
	}
	return fmt.Sprintf("process %d on %s", c.PID, c.Host)
}

// Life is the known state of a claimant.
type Life string

// The state of another machine's process, and of an unnamed one, is unknown.
const (
	Alive   Life = "alive"
	Gone    Life = "gone"
	Unknown Life = "unknown"
)

// Life looks for c among the processes of this machine, whose name is host.
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

// claimName returns the file's name while c has it; claimed parses it. Hosts
// contain no dots (identity.Host).
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

// ClaimOf parses the name of a running task's file: the original name and the
// claimant, zero where the name has none.
func ClaimOf(name string) (base string, c Claimant) { return claimed(name) }

// ErrTaken reports that another executor was quicker: the file is gone.
var ErrTaken = errors.New("taken by another executor")

// Claim claims a queued task, or one whose claimant has gone, in one rename, so
// that exactly one executor has it, and reads it again: what runs is what was
// claimed, and approved. It returns ErrTaken where another executor was quicker.
// A file that is no longer that task, or whose content is not approved
// (*NotApproved), is given back, with an error.
func (q Queue) Claim(i Item) (Item, error) {
	base, _ := claimed(filepath.Base(i.Path))
	got, err := q.rename(i, Running, claimName(base, q.Self))
	if err != nil {
		return i, err
	}
	got.By = q.Self
	if got.Task, got.Digest, got.Err = q.load(got.Path); got.Err == nil && got.Task.ID != i.Task.ID {
		got.Err = fmt.Errorf("%s: was task %s a moment ago, and is %s now", got.Path, i.Task.ID, got.Task.ID)
	}
	if got.Err == nil {
		approved, err := q.approved()
		if got.Err = err; err == nil && !approved(got.Digest) {
			got.Err = &NotApproved{q.Dir, got.Project, []Item{got}}
		}
	}
	if got.Err != nil {
		_, err := q.GiveBack(got)
		return got, errors.Join(got.Err, err)
	}
	return got, nil
}

// Finish moves a claimed task to done or failed.
func (q Queue) Finish(i Item, s State) (Item, error) { return q.move(i, s) }

// GiveBack returns a claimed task to its queue.
func (q Queue) GiveBack(i Item) (Item, error) { return q.move(i, Queued) }

// Abandoned returns the tasks of a project whose executor is dead. To change
// one, claim it first.
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

// move renames a task into the folder of a state, under its original name. An
// existing file of an earlier run stays: the new one gets a number.
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

// rename moves a task's file and replaces nothing: an existing one is
// fs.ErrExist, a missing one ErrTaken.
func (q Queue) rename(i Item, s State, name string) (Item, error) {
	to := filepath.Join(q.Folder(i.Project, s), name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return i, fmt.Errorf("move task %s: %w", i.Name(), err)
	}
	do := atomicfile.RenameNew
	if s == Running { // the name contains the process and is unique
		do = renameUnique
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

// renameUnique renames a file to a name that only this process uses and that does
// not exist. It is one step on every file system.
func renameUnique(from, to string) error {
	if _, err := os.Lstat(from); err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}
