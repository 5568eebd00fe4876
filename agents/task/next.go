package task

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNone reports that no task of a queue can be done now. Its text is
// chiffon's.
var ErrNone = errors.New("No tasks in queue") //lint:ignore ST1005 an older program's text

// Next returns the first task of a project: of those that are queued, approved
// and free, by priority, date and id. Without one the error is ErrNone, a
// *NotApproved, or a *Blocked with what each waits for, or what is wrong with the
// files.
func (q Queue) Next(project string) (Item, error) {
	free, err := q.free(project)
	if err != nil {
		return Item{}, err
	}
	return free[0], nil
}

// free returns all tasks of a project that can start, except those named in but,
// in the order of Next. It returns at least one, or Next's error.
func (q Queue) free(project string, but ...string) ([]Item, error) {
	free, err := q.look(project, but)
	var b *Blocked
	if errors.As(err, &b) && b.Never {
		return q.look(project, but) // a task that was given back may have been between two folders
	}
	return free, err
}

func (q Queue) look(project string, but []string) ([]Item, error) {
	all, err := q.List()
	if err != nil {
		return nil, err
	}
	approved, err := q.approved()
	if err != nil {
		return nil, err
	}
	g := NewGraph(all)
	b := &Blocked{Project: project}
	var free []Item
	waits := &NotApproved{Dir: q.Dir, Project: project}
	for _, i := range all {
		if i.State != Queued || i.Project != project || slices.Contains(but, i.Task.ID) {
			continue
		}
		if i.Err != nil {
			b.Tasks = append(b.Tasks, i.Err.Error())
			b.Never = true
			continue
		}
		if !approved(i.Digest) {
			waits.Items = append(waits.Items, i)
			continue
		}
		gate := g.Gate(i)
		if gate.Free() {
			free = append(free, i)
			continue
		}
		b.Tasks = append(b.Tasks, i.Task.ID+": "+gate.Why(i.Task.ID))
		b.Never = b.Never || len(gate.Never) > 0
	}
	switch {
	case len(free) > 0:
		return free, nil
	case len(waits.Items) > 0 && b.Never:
		return nil, errors.Join(b, waits)
	case len(waits.Items) > 0: // the others may wait for them
		return nil, waits
	case len(b.Tasks) > 0:
		return nil, b
	}
	return nil, ErrNone
}

// Find returns the task of that id in any queue, the furthest in its life.
func (q Queue) Find(id string) (Item, error) {
	all, err := q.List()
	if err != nil {
		return Item{}, err
	}
	return find(all, id, weight...)
}

// find returns the task with that id, or of that file, in one of these states,
// the last of them first.
func find(all []Item, id string, in ...State) (Item, error) {
	for n := len(in) - 1; n >= 0; n-- {
		for _, i := range all {
			if i.State == in[n] && i.isNamed(id) {
				return i, nil
			}
		}
	}
	return Item{}, fmt.Errorf("%w %q", ErrUnknown, id)
}

// ErrUnknown reports an unknown task id.
var ErrUnknown = errors.New("unknown task")
