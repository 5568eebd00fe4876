package run

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/schema/spec"
)

// Plan describes a new run.
type Plan struct {
	ID         string // "": generated from the time
	Goal       string
	By         string // who asked for it; optional
	Acceptance []string
	Evidence   []string // that the run needs before it completes
	Objective  string   // "": the goal
	Evaluators []string
	Tasks      []spec.RunTask // in any order; none means one task, "main", with the goal
	Settings   spec.RunSettings
	Reasons    []spec.RunReason
	Advice     []string
	Aside      bool // recorded beside the active run, which stays active
}

// Start records a new run and makes it the active one, except with Aside. The
// run appears in one step. Start starts no worker, closes nothing and touches no
// other run. A crash leaves nothing, or a complete run that is not active yet.
func (s *Store) Start(p Plan) (*Run, error) {
	now := s.Now()
	if p.ID == "" {
		p.ID = newID(now)
	}
	if err := CheckID(p.ID); err != nil {
		return nil, err
	}
	if strings.TrimSpace(p.Goal) == "" {
		return nil, errors.New("a run needs a goal")
	}
	if len(p.Tasks) == 0 {
		p.Tasks = []spec.RunTask{{ID: "main", Goal: p.Goal}}
	}
	tasks, err := order(p.Tasks)
	if err != nil {
		return nil, err
	}
	for _, want := range p.Evidence {
		if err := checkRequirement(want); err != nil {
			return nil, err
		}
	}
	if err := checkSettings(p.Settings); err != nil {
		return nil, err
	}
	held, err := s.locked()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if _, err := s.root.Lstat(filepath.Join("runs", p.ID)); err == nil {
		return nil, fmt.Errorf("run %s already exists; choose another id", p.ID)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for run %s: %w", p.ID, err)
	}
	if err := s.layOut(p, tasks, now); err != nil {
		return nil, err
	}
	r, err := s.Run(p.ID)
	if err != nil || p.Aside {
		return r, err
	}
	return r, s.activate(p.ID)
}

// layOut creates the folder of a run and renames it into place.
func (s *Store) layOut(p Plan, tasks []spec.RunTask, now clock.Moment) error {
	temp := filepath.Join("runs", ".new-"+p.ID)
	if err := s.callHook("mkdir", temp); err != nil {
		return err
	}
	if err := s.root.RemoveAll(temp); err != nil { // left by a killed start
		return fmt.Errorf("make run %s: %w", p.ID, err)
	}
	for _, dir := range []string{"", "evidence", "evaluations", "integration", "logs"} {
		if err := s.root.MkdirAll(filepath.Join(temp, dir), 0o700); err != nil {
			return fmt.Errorf("make run %s: %w", p.ID, err)
		}
	}
	root, err := s.root.OpenRoot(temp)
	if err != nil {
		return fmt.Errorf("make run %s: %w", p.ID, err)
	}
	defer root.Close()
	r := &Run{ID: p.ID, Path: filepath.Join(s.Path, "runs", p.ID), store: s, root: root}
	state := r.initialState()
	c := &Change{State: state, Now: now, id: p.ID}
	copy(c.last[:], state.AsOf.Sum)
	if err := c.begin(p, tasks); err != nil {
		return err
	}
	if err := s.callHook("write", eventsFile); err != nil {
		return err
	}
	if err := atomicfile.Write(eventsFile, c.lines, s.writing(root, eventsFile, true)); err != nil {
		return err
	}
	r.project(state)
	const summary = "learning-summary.md"
	if err := atomicfile.Write(summary, []byte("# What this run taught\n\nWritten by people; aisync only lays it out.\n"), s.writing(root, summary, false)); err != nil {
		return err
	}
	if err := s.callHook("rename", filepath.Join("runs", p.ID)); err != nil {
		return err
	}
	if err := s.root.Rename(temp, filepath.Join("runs", p.ID)); err != nil {
		return fmt.Errorf("make run %s: %w", p.ID, err)
	}
	if d, err := s.root.Open("runs"); err == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

// begin adds the first events of a run.
func (c *Change) begin(p Plan, tasks []spec.RunTask) error {
	at := c.Now.Stamp()
	objective := p.Objective
	if objective == "" {
		objective = p.Goal
	}
	err := c.add(Event{Type: RunCreated}, Created{
		Contract:  spec.RunContract{SchemaVersion: spec.RunVersion, RunID: p.ID, Goal: p.Goal, CreatedAt: at, CreatedBy: p.By, Acceptance: p.Acceptance, EvidenceRequired: p.Evidence, Adapter: p.Settings.Adapter, Status: RunActive},
		Objective: spec.RunObjective{SchemaVersion: spec.RunVersion, RunID: p.ID, Objective: objective, Evaluators: p.Evaluators, Authority: "advisory"},
		Policy:    spec.RunPolicy{SchemaVersion: spec.RunVersion, RunID: p.ID, SelectedAt: at, Settings: p.Settings, Reasons: p.Reasons, Advice: p.Advice},
	})
	for _, t := range tasks {
		if err == nil {
			err = c.add(Event{Type: TaskAdded, Task: t.ID}, t)
		}
	}
	return err
}

// newID returns a name that sorts by time: 20260102-030405-1a2b.
func newID(now clock.Moment) string {
	var b [2]byte
	rand.Read(b[:]) // never fails
	return now.Time().Format("20060102-150405") + "-" + hex.EncodeToString(b[:])
}

// TaskError is an error in one task of a plan.
type TaskError struct {
	Index int // of the task in Plan.Tasks
	Err   error
}

func (e *TaskError) Error() string { return e.Err.Error() }
func (e *TaskError) Unwrap() error { return e.Err }

// order sorts tasks so that each follows its dependencies, and otherwise keeps
// their order. Its error is a TaskError and names a cycle.
func order(tasks []spec.RunTask) ([]spec.RunTask, error) {
	at := map[string]int{}
	for i, t := range tasks {
		if err := checkName(t.ID); err != nil {
			return nil, &TaskError{i, fmt.Errorf("task %d: %w", i+1, err)}
		}
		if j, there := at[t.ID]; there {
			return nil, &TaskError{i, fmt.Errorf("duplicate task %q, at positions %d and %d", t.ID, j+1, i+1)}
		}
		at[t.ID] = i
	}
	var out []spec.RunTask
	var way []string // from a task to its dependencies
	state := make([]byte, len(tasks))
	var visit func(int) error
	visit = func(i int) error {
		t := tasks[i]
		switch state[i] {
		case 2:
			return nil
		case 1:
			from := slices.Index(way, t.ID)
			return &TaskError{i, fmt.Errorf("circular dependency: %s", strings.Join(append(way[from:], t.ID), " → "))}
		}
		state[i] = 1
		way = append(way, t.ID)
		for _, d := range t.DependsOn {
			j, ok := at[d]
			if !ok {
				return &TaskError{i, fmt.Errorf("task %q depends on the unknown task %q", t.ID, d)}
			}
			if err := visit(j); err != nil {
				return err
			}
		}
		way = way[:len(way)-1]
		state[i] = 2
		out = append(out, t)
		return nil
	}
	for i := range tasks {
		if err := visit(i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// active is active.json.
type active struct {
	SchemaVersion int     `json:"schemaVersion"`
	RunID         *string `json:"runId"`
	UpdatedAt     string  `json:"updatedAt"`
}

const activeFile = "active.json"

// Active returns the id in active.json, "" for none. The run need not exist.
func (s *Store) Active() (string, error) {
	text, err := read(s.root, activeFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return s.parseActive(text)
}

func (s *Store) parseActive(text []byte) (string, error) {
	var a active
	err := json.Unmarshal(text, &a)
	if again, _ := indented(a); err != nil || string(again) != string(text) || a.SchemaVersion != spec.RunVersion {
		// Not in aisync's form: the schema check reports where.
		if err := s.opts.Check("active", filepath.Join(s.Path, activeFile), text); err != nil {
			return "", err
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Join(s.Path, activeFile), err)
	}
	if a.RunID == nil {
		return "", nil
	}
	if err := CheckID(*a.RunID); err != nil {
		return "", fmt.Errorf("%s: runId: %w; name a run: aisync run list", filepath.Join(s.Path, activeFile), err)
	}
	return *a.RunID, nil
}

// activate sets the active run, "" for none.
func (s *Store) activate(id string) error {
	text, err := indented(activeDoc(id, s.Now()))
	if err != nil {
		return err
	}
	return s.replace(s.root, activeFile, text, true)
}

func activeDoc(id string, now clock.Moment) active {
	a := active{SchemaVersion: spec.RunVersion, UpdatedAt: now.Stamp()}
	if id != "" {
		a.RunID = &id
	}
	return a
}

// deactivate clears the active run, if it is id.
func (s *Store) deactivate(id string) error {
	if s.bare {
		return nil
	}
	held, err := s.locked()
	if err != nil {
		return err
	}
	defer held.Close()
	if is, err := s.Active(); err != nil || is != id {
		return err
	}
	return s.activate("")
}

// locked takes the lock of the store.
func (s *Store) locked() (*os.File, error) { return lock(s.root, unix.LOCK_EX) }
