package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/schema/spec"
)

// isNamed reports whether a person's name for a task means i: its id, or, for an
// invalid file, the file's name.
func (i Item) isNamed(name string) bool {
	if i.Err == nil {
		return i.Task.ID == name
	}
	base := filepath.Base(i.Path)
	return base == name || strings.TrimSuffix(base, filepath.Ext(base)) == name
}

// Add puts a task into the inbox. It refuses an id that exists.
func (q Queue) Add(name string, text []byte) (Item, error) {
	t, err := q.parse(name, text)
	if err != nil {
		return Item{}, err
	}
	all, err := q.List()
	if err != nil {
		return Item{}, err
	}
	if err := checkNewID(all, t.ID); err != nil {
		return Item{}, err
	}
	i := Item{Task: t, State: Inbox, Path: filepath.Join(q.Folder("", Inbox), t.ID+".yaml")}
	if err := writeNew(i.Path, text); err != nil {
		return Item{}, fmt.Errorf("put task %s into the inbox: %w", t.ID, err)
	}
	return i, nil
}

// Unready reports a draft in the inbox that a person must complete.
type Unready struct{ Err error }

func (u *Unready) Error() string { return u.Err.Error() }

// Begin writes a draft into the inbox. A draft without steps is written too, and
// returns *Unready; an invalid one is not.
func (q Queue) Begin(d Draft) (Item, error) {
	path := filepath.Join(q.Folder("", Inbox), d.ID+".yaml")
	i, err := q.Add(path, d.Text())
	if err == nil || len(d.Files)+len(d.Commands) > 0 {
		return i, err
	}
	trial := d
	trial.Commands = []string{"true"}
	if _, wrong := q.parse(path, trial.Text()); wrong != nil {
		return i, wrong
	}
	all, err2 := q.List()
	if err2 == nil {
		err2 = checkNewID(all, d.ID)
	}
	if err2 == nil {
		err2 = writeNew(path, d.Text())
	}
	if err2 != nil {
		return i, fmt.Errorf("put task %s into the inbox: %w", d.ID, err2)
	}
	return Item{Task: spec.Task{ID: d.ID}, State: Inbox, Path: path, Err: err}, &Unready{err}
}

// checkNewID returns an error if a task with that id exists.
func checkNewID(all []Item, id string) error {
	if i, err := find(all, id, weight...); err == nil {
		return fmt.Errorf("task %s exists already, %s: %s", id, i.State, i.Path)
	}
	return nil
}

// writeNew creates a file in one step, and replaces none.
func writeNew(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Create(path, text, atomicfile.Options{Mode: 0o644})
}

// Approvable returns the task that a person names to approve: one of the inbox,
// or one that is queued, or whose executor died, and is not approved.
func (q Queue) Approvable(id string) (Item, error) {
	all, err := q.List()
	if err != nil {
		return Item{}, err
	}
	i, err := find(all, id, weight...)
	if err != nil {
		return Item{}, fmt.Errorf("%w; the inbox is %s", err, q.Folder("", Inbox))
	}
	if in, err := find(all, id, Failed, Running, Queued, Inbox); err == nil {
		i = in // before a file of the same id that is done
	}
	if i.Err != nil {
		return Item{}, i.Err
	}
	approved, err := q.approved()
	if err != nil {
		return Item{}, err
	}
	already := ""
	switch known := approved(i.Digest); {
	case i.State == Inbox, !known && (i.State == Queued || i.State == Running && i.By.Life(q.Self.Host, process.System()) == Gone):
		return i, nil
	case known:
		already = ", and approved"
	}
	return Item{}, fmt.Errorf("task %s is not in the inbox, it is %s%s: %s", id, i.State, already, i.Path)
}

// Enqueue moves a task from the inbox into the queue of a project. Its id must be
// unique, its dependencies known, and it must not wait for itself. The caller
// records the person's approval of its Digest.
func (q Queue) Enqueue(id, project string) (Item, error) {
	if !ValidID(project) {
		return Item{}, fmt.Errorf("queue %q: %s", project, idRule)
	}
	all, err := q.List()
	if err != nil {
		return Item{}, err
	}
	i, err := find(all, id, Inbox)
	switch {
	case err != nil:
		if there, err := find(all, id, weight...); err == nil {
			return Item{}, fmt.Errorf("task %s is not in the inbox, it is %s: %s", id, there.State, there.Path)
		}
		return Item{}, fmt.Errorf("%w; the inbox is %s", err, q.Folder("", Inbox))
	case i.Err != nil:
		return Item{}, i.Err
	}
	gate := NewGraph(all).Gate(i)
	gate.Never = slices.DeleteFunc(gate.Never, func(n Need) bool { return n.Why == string(Failed) }) // it may be retried yet
	if len(gate.Never) > 0 {
		return Item{}, fmt.Errorf("%s: task %s could never start: %s", i.Path, id, Gate{Never: gate.Never}.Why(id))
	}
	i.Project = project
	got, err := q.rename(i, Queued, filepath.Base(i.Path))
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("approve task %s: a file of that name is in the queue: %s", id, filepath.Join(q.Folder(project, Queued), filepath.Base(i.Path)))
	}
	return got, err
}

const idRule = "want letters, digits, dots, underscores and hyphens, at most 80, with no .. and no dot or .lock at the end"

// Retry returns a task to its queue: one that failed, or one whose executor has
// died. gone states that the executor is dead where this machine cannot check.
func (q Queue) Retry(id string, gone bool, t process.Table) (Item, error) {
	all, err := q.List()
	if err != nil {
		return Item{}, err
	}
	i, err := find(all, id, weight...)
	if err != nil {
		return Item{}, err
	}
	switch i.State {
	case Inbox, Queued, Done:
		return Item{}, fmt.Errorf("task %s is %s: only a failed task, or one whose executor died, can be retried", i.Name(), i.State.Text())
	case Running:
		switch i.By.Life(q.Self.Host, t) {
		case Alive:
			return Item{}, fmt.Errorf("task %s is being done by %s", i.Name(), i.By)
		case Unknown:
			if !gone {
				return Item{}, fmt.Errorf("task %s was claimed by %s, which cannot be checked from here: %w", i.Name(), i.By, ErrMayLive)
			}
		}
	}
	return q.move(i, Queued)
}

// ErrMayLive reports a claim whose executor cannot be checked from here.
var ErrMayLive = errors.New("the executor may still be running")
