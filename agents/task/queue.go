// Package task works a queue of files: each is a bounded piece of work that an
// executor carries out in a separate work tree, within enforced limits. It never
// touches the person's work tree, carries out only what the person of this machine
// approved, and pushes only where asked to. Call Queue.Add and Queue.Enqueue, then
// Runner.Once.
package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"

	"aisync.dev/aisync/schema/spec"
)

// State is the state of a task: the folder of its file.
type State string

// The states and their folders. Queued tasks lie in the queue's folder, where
// people and older tools put them.
const (
	Inbox   State = "inbox"   // tasks/inbox: waits for a person's approval
	Queued  State = "queued"  // tasks/queue/<project>
	Running State = "running" // tasks/queue/<project>/running: claimed by an executor
	Done    State = "done"    // …/done
	Failed  State = "failed"  // …/failed
)

// Text describes the state in words.
func (s State) Text() string {
	switch s {
	case Inbox:
		return "in the inbox"
	case Running:
		return "being done"
	}
	return string(s)
}

// states in the order of a task's life. Reading them in this order sees a moving
// task at least once.
var states = []State{Inbox, Queued, Running, Done, Failed}

// MaxFile bounds a task file, in bytes.
const MaxFile = 1 << 20

// Queue is the tasks folder of a repository.
type Queue struct {
	Dir  string   // that holds tasks/, absolute
	Self Claimant // the claiming process; see Here

	// Load parses a task file. Its error has line and column.
	Load func(name string, text []byte) (spec.Task, error)

	// Approvals are those of this machine for the tasks of Dir.
	Approvals Approvals
	// EndApproval ends the approval of a task that is done. nil: it lasts.
	EndApproval func(ctx context.Context, digest string) error
}

// Item is one task and its place in the queue.
type Item struct {
	Task    spec.Task
	Project string // the queue; "" in the inbox
	State   State
	Path    string
	By      Claimant // of a running task; zero where its file name has none
	Digest  string   // of the file's bytes; see Digest
	Err     error    // the file is invalid
}

// Name returns a task's id, or its file where that has none.
func (i Item) Name() string { return cmp.Or(i.Task.ID, filepath.Base(i.Path)) }

// ValidID reports whether s can be the id of a task, or the name of a queue: it
// becomes the name of a folder and a part of a branch.
func ValidID(s string) bool {
	if s == "" || len(s) > 80 || !alphanumeric(rune(s[0])) || strings.Contains(s, "..") || strings.HasSuffix(s, ".") || strings.HasSuffix(s, ".lock") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !alphanumeric(r) && !strings.ContainsRune("._-", r) })
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func (q Queue) path(parts ...string) string {
	return filepath.Join(append([]string{q.Dir, "tasks"}, parts...)...)
}

// Folder returns the folder for tasks of a project in a state.
func (q Queue) Folder(project string, s State) string {
	switch s {
	case Inbox:
		return q.path("inbox")
	case Queued:
		return q.path("queue", project)
	}
	return q.path("queue", project, string(s))
}

// Runs returns the folder for the reports of a task.
func (q Queue) Runs(id string) string { return q.path("runs", id) }

// Projects lists the queues, sorted.
func (q Queue) Projects() ([]string, error) {
	entries, err := os.ReadDir(q.path("queue"))
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

// List reads all tasks: by state, within one by priority, date and id. An
// invalid file is an item with Err.
func (q Queue) List() ([]Item, error) {
	projects, err := q.Projects()
	if err != nil {
		return nil, err
	}
	var out []Item
	for _, s := range states {
		from := len(out)
		if s == Inbox {
			if out, err = q.read(out, "", s); err != nil {
				return nil, err
			}
		}
		for _, p := range projects {
			if s == Inbox {
				break
			}
			if out, err = q.read(out, p, s); err != nil {
				return nil, err
			}
		}
		here := out[from:]
		sort.SliceStable(here, func(i, j int) bool { return order(here[i], here[j]) < 0 })
	}
	return withoutMoved(out), nil
}

// read appends the tasks of one folder.
func (q Queue) read(out []Item, project string, s State) ([]Item, error) {
	entries, err := os.ReadDir(q.Folder(project, s))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isTaskFile(e.Name()) {
			continue
		}
		i := Item{Project: project, State: s, Path: filepath.Join(q.Folder(project, s), e.Name())}
		if s == Running {
			_, i.By = claimed(e.Name())
		}
		i.Task, i.Digest, i.Err = q.load(i.Path)
		if !errors.Is(i.Err, fs.ErrNotExist) { // otherwise it has moved on
			out = append(out, i)
		}
	}
	return out, nil
}

// load reads one task file, bounded, and returns the task and the digest of the
// same bytes. It follows no link and waits for no pipe.
func (q Queue) load(path string) (spec.Task, string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return spec.Task{}, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, MaxFile+1))
	}
	if err != nil {
		return spec.Task{}, "", fmt.Errorf("read task: %w", err)
	}
	t, err := q.parse(path, text)
	return t, Digest(text), err
}

func (q Queue) parse(name string, text []byte) (spec.Task, error) {
	if len(text) > MaxFile {
		return spec.Task{}, fmt.Errorf("%s: longer than the limit of %d bytes", name, MaxFile)
	}
	return q.Load(name, text)
}

func isTaskFile(name string) bool {
	ext := filepath.Ext(name)
	return (ext == ".yml" || ext == ".yaml") && !strings.HasPrefix(name, ".")
}

// order sorts by priority, then date, then id. Items without a date are oldest;
// invalid files come last.
func order(a, b Item) int {
	wrong := func(i Item) int {
		if i.Err != nil {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(wrong(a), wrong(b)), cmp.Compare(a.Task.Priority, b.Task.Priority),
		a.Task.CreatedAt.Compare(b.Task.CreatedAt), cmp.Compare(a.Task.ID, b.Task.ID), cmp.Compare(a.Path, b.Path))
}

// withoutMoved removes items that were read twice because they moved meanwhile:
// of one id, the files that are gone.
func withoutMoved(items []Item) []Item {
	count := map[string]int{}
	for _, i := range items {
		count[i.Task.ID]++
	}
	return slices.DeleteFunc(items, func(i Item) bool {
		if i.Task.ID == "" || count[i.Task.ID] < 2 {
			return false
		}
		_, err := os.Lstat(i.Path)
		return errors.Is(err, fs.ErrNotExist)
	})
}
