package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/schema/spec"
)

// OpenTasks opens the runs of a queue of task files in dir, its folder tasks: a
// run for each task, runs/ID, of which only the events are written. It makes
// what is missing.
func OpenTasks(dir string, c clock.Clock) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, "runs"), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of reports: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return &Store{Workspace: filepath.Dir(dir), Path: dir, opts: Options{Clock: c}, root: root, bare: true}, nil
}

// Task returns the run of the task id of a queue, which may fail attempts times.
// It begins one where there is none; and, if again is set, where the last is over:
// that one's events and workers then have its time in their names. Close the run.
func (s *Store) Task(id, goal string, attempts int, again bool) (*Run, error) {
	dir := filepath.Join("runs", id)
	if err := s.root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder of task %s: %w", id, err)
	}
	root, err := s.root.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of task %s: %w", id, err)
	}
	r := &Run{ID: id, Path: filepath.Join(s.Path, dir), store: s, root: root}
	err = r.beginTask(goal, attempts)
	if err == nil && again {
		err = r.retire()
	}
	if err == nil {
		err = r.beginTask(goal, attempts)
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("events of task %s: %w", id, err)
	}
	return r, nil
}

// retire renames what belongs to a run that is over, so that another can begin.
func (r *Run) retire() error {
	st, err := r.State()
	if err != nil || !st.Over() {
		return err
	}
	return r.Change(func(c *Change) error {
		if !c.State.Over() { // another executor has begun it
			return nil
		}
		for _, name := range []string{"workers", "logs", eventsFile} { // without the events it is begun
			ext := filepath.Ext(name)
			to := fmt.Sprintf("%s-%s%s", strings.TrimSuffix(name, ext), c.Now.Time().Format("20060102-150405.000"), ext)
			if err := r.root.Rename(name, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

func (r *Run) beginTask(goal string, attempts int) error {
	if _, err := r.root.Lstat(eventsFile); err == nil {
		return nil
	}
	state := r.initialState()
	c := &Change{State: state, Now: r.Now(), id: r.ID}
	copy(c.last[:], state.AsOf.Sum)
	set := spec.RunSettings{Strategy: "graph", Depth: Standard, MaxWorkers: 1, MaxAttempts: attempts, LeaseMS: (15 * time.Minute).Milliseconds(),
		ReadinessMS: time.Minute.Milliseconds(), HeartbeatMS: (5 * time.Minute).Milliseconds(), CompletedDefault: string(SafeToClose)}
	if err := c.begin(Plan{ID: r.ID, Goal: goal, Settings: set}, []spec.RunTask{{ID: r.ID}}); err != nil {
		return err
	}
	err := atomicfile.Create(eventsFile, c.lines, atomicfile.Options{Root: r.root, Mode: 0o644})
	if errors.Is(err, fs.ErrExist) { // another executor was quicker
		return nil
	}
	return err
}
