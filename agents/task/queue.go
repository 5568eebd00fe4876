// Package task works a queue of files: each is a bounded piece of work that an
// executor carries out in a work tree of its own, within limits that are
// enforced and not asked for. It never touches the tree of the person, and
// pushes nothing unless told to. Start reading at Queue, then Runner.Once.
package task

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// Folders of a queue, below tasks/queue/<project>; and of what came of it.
const (
	Root    = "tasks"
	inbox   = "inbox"   // tasks/inbox: imported, and not approved yet
	queue   = "queue"   // tasks/queue/<project>: to be done
	running = "running" // …/running: claimed
	done    = "done"
	failed  = "failed"
	runs    = "runs" // tasks/runs/<id>
)

// Load reads a task file and says what is wrong with it, with line and column.
type Load func(name string, text []byte) (spec.Task, error)

// Queue is the tasks folder of a repository.
type Queue struct {
	Dir  string // of the repository
	Load Load
}

// Item is one task with its place in the queue.
type Item struct {
	Task    spec.Task
	Project string
	State   string // inbox, queued, running, done, failed
	Path    string
	Err     error // the file is no task
}

// ID is what a task may be called: it becomes a folder and a part of a branch.
var ID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)

// ValidID reports whether id can be a task's.
func ValidID(id string) bool {
	return ID.MatchString(id) && !strings.Contains(id, "..") && !strings.HasSuffix(id, ".lock") && !strings.HasSuffix(id, ".")
}

func (q Queue) path(parts ...string) string {
	return filepath.Join(append([]string{q.Dir, Root}, parts...)...)
}

// folder is where a task of a state lies.
func (q Queue) folder(project, state string) string {
	switch state {
	case "inbox":
		return q.path(inbox)
	case "queued":
		return q.path(queue, project)
	}
	return q.path(queue, project, state)
}

// Projects lists the queues, sorted.
func (q Queue) Projects() ([]string, error) {
	entries, err := os.ReadDir(q.path(queue))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the queues: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && ValidID(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// states in the order of a task's life.
var states = []string{"inbox", "queued", running, done, failed}

// List reads every task of a project, or of all where project is "". A file
// that is no task is an item with Err.
func (q Queue) List(project string) ([]Item, error) {
	projects := []string{project}
	if project == "" {
		var err error
		if projects, err = q.Projects(); err != nil {
			return nil, err
		}
	}
	var out []Item
	for _, state := range states {
		for i, p := range projects {
			if state == "inbox" && i > 0 {
				break
			}
			items, err := q.read(p, state)
			if err != nil {
				return nil, err
			}
			out = append(out, items...)
		}
	}
	return out, nil
}

func (q Queue) read(project, state string) ([]Item, error) {
	entries, err := os.ReadDir(q.folder(project, state))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	var out []Item
	for _, e := range entries {
		if !e.Type().IsRegular() || !isTaskFile(e.Name()) {
			continue
		}
		item := Item{Project: project, State: state, Path: filepath.Join(q.folder(project, state), e.Name())}
		if state == "inbox" {
			item.Project = ""
		}
		text, err := os.ReadFile(item.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another executor took it
		}
		if err == nil {
			item.Task, err = q.Load(item.Path, text)
		}
		item.Err = err
		out = append(out, item)
	}
	slices.SortStableFunc(out, func(a, b Item) int { return order(a.Task, b.Task) })
	return out, nil
}

func isTaskFile(name string) bool {
	ext := filepath.Ext(name)
	return (ext == ".yml" || ext == ".yaml") && !strings.HasPrefix(name, ".")
}

// order is priority, then age, then id.
func order(a, b spec.Task) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// Gate says what a task waits for. Waiting is for tasks that may still be done;
// Never is what cannot come to pass: a task that failed, one that nobody knows,
// a circle.
type Gate struct{ Waiting, Never []string }

// Free reports whether the task may start.
func (g Gate) Free() bool { return len(g.Waiting) == 0 && len(g.Never) == 0 }

// Gates looks at the dependencies of every task in the queues. all must hold
// the tasks of all projects: a task may wait for one of another.
func Gates(all []Item) map[string]Gate {
	state := map[string]string{}
	needs := map[string][]string{}
	for _, i := range all {
		if i.Err != nil || i.State == "inbox" {
			continue
		}
		if state[i.Task.ID] != done { // done once is done
			state[i.Task.ID] = i.State
		}
		needs[i.Task.ID] = append(needs[i.Task.ID], i.Task.Requires...)
		for _, b := range i.Task.Blocks {
			needs[b] = append(needs[b], i.Task.ID)
		}
	}
	gates := map[string]Gate{}
	for id := range state {
		var g Gate
		for _, need := range slices.Compact(slices.Sorted(slices.Values(needs[id]))) {
			switch state[need] {
			case done:
			case "queued", running:
				g.Waiting = append(g.Waiting, need)
			case failed:
				g.Never = append(g.Never, need+" (failed)")
			default:
				g.Never = append(g.Never, need+" (unknown)")
			}
		}
		if circle := circle(id, needs); circle != nil && state[id] != done {
			g.Never = append(g.Never, "itself: "+strings.Join(circle, " → "))
		}
		gates[id] = g
	}
	return gates
}

// circle returns the way from id back to itself, nil if there is none.
func circle(id string, needs map[string][]string) []string {
	var way []string
	seen := map[string]bool{}
	var walk func(at string) bool
	walk = func(at string) bool {
		for _, next := range needs[at] {
			if next == id {
				way = append(way, at)
				return true
			}
			if !seen[next] {
				seen[next] = true
				if walk(next) {
					way = append(way, at)
					return true
				}
			}
		}
		return false
	}
	if !walk(id) {
		return nil
	}
	slices.Reverse(way)
	return append(way, id)
}

// ErrNone says that nothing in a queue can be done now.
var ErrNone = errors.New("no tasks in queue")

// Next returns the task of a project that is to be done first: of those that
// are queued and free, by priority, age and id.
func (q Queue) Next(project string) (Item, error) {
	items, err := q.List("")
	if err != nil {
		return Item{}, err
	}
	gates := Gates(items)
	for _, i := range items {
		if i.State == "queued" && i.Project == project && i.Err == nil && gates[i.Task.ID].Free() {
			return i, nil
		}
	}
	return Item{}, ErrNone
}

// ErrTaken says that another executor was quicker.
var ErrTaken = errors.New("another executor has it")

// Claim moves a queued task to running in one step, so that of any number of
// executors one has it.
func (q Queue) Claim(i Item) (Item, error) { return q.move(i, running) }

// Finish moves a claimed task to done or failed.
func (q Queue) Finish(i Item, ok bool) (Item, error) {
	if ok {
		return q.move(i, done)
	}
	return q.move(i, failed)
}

// GiveBack puts a claimed task into the queue again.
func (q Queue) GiveBack(i Item) (Item, error) { return q.move(i, "queued") }

// move renames a task's file into the folder of a state. A file of that name
// there is never replaced.
func (q Queue) move(i Item, state string) (Item, error) {
	dir := q.folder(i.Project, state)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return i, fmt.Errorf("move task %s: %w", i.Task.ID, err)
	}
	base := filepath.Base(i.Path)
	for n := 1; ; n++ {
		to := filepath.Join(dir, base)
		if n > 1 { // an earlier run of a task of this name
			ext := filepath.Ext(base)
			to = filepath.Join(dir, fmt.Sprintf("%s.%d%s", strings.TrimSuffix(base, ext), n, ext))
		}
		err := renameNew(i.Path, to)
		switch {
		case err == nil:
			i.Path, i.State = to, state
			return i, nil
		case errors.Is(err, fs.ErrExist):
			if state == running {
				return i, ErrTaken
			}
		case errors.Is(err, fs.ErrNotExist):
			return i, ErrTaken
		default:
			return i, fmt.Errorf("move task %s: %w", i.Task.ID, err)
		}
	}
}

// Approve moves an imported task into the queue of a project.
func (q Queue) Approve(id, project string) (Item, error) {
	if !ValidID(project) {
		return Item{}, fmt.Errorf("project %q: want letters, digits, dots, underscores and hyphens", project)
	}
	all, err := q.List("")
	if err != nil {
		return Item{}, err
	}
	for _, i := range all {
		if i.State != "inbox" && i.Err == nil && i.Task.ID == id && i.State != failed {
			return Item{}, fmt.Errorf("a task %s is there already: %s", id, i.Path)
		}
	}
	for _, i := range all {
		if i.State != "inbox" || i.Task.ID != id && filepath.Base(i.Path) != id {
			continue
		}
		if i.Err != nil {
			return Item{}, i.Err
		}
		i.Project = project
		return q.move(i, "queued")
	}
	return Item{}, fmt.Errorf("no task %s waits in %s", id, q.path(inbox))
}
