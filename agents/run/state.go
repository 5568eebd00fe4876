package run

import (
	"path/filepath"
	"slices"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/overlap"
	"aisync.dev/aisync/schema/spec"
)

// State is a run after some event: the result of replaying its events up to
// there, and of nothing else.
type State struct {
	ID        string            `json:"runId"`
	AsOf      AsOf              `json:"asOf"`
	Contract  spec.RunContract  `json:"contract"` // with the current status
	Objective spec.RunObjective `json:"objective"`
	Policy    spec.RunPolicy    `json:"policy"`
	Reason    string            `json:"reason,omitempty"` // why it is over
	Updated   clock.Moment      `json:"updated"`
	Tasks     []Task            `json:"tasks"`
	Workers   []Worker          `json:"workers"`
	Evidence  map[string]int    `json:"evidence,omitempty"` // of the run: number of pieces by requirement
	Pieces    int               `json:"pieces,omitempty"`   // number of pieces of evidence, in all
	Recovered int               `json:"recovered,omitempty"`
	// Cancelling is why the run is being cancelled: supervisors start nothing.
	Cancelling string `json:"cancelling,omitempty"`

	tasks   map[string]int
	workers map[string]int
}

// AsOf names the last event that a state or a derived file includes.
type AsOf struct {
	Seq    int64  `json:"seq"`
	Offset int64  `json:"offset"` // of the start of the next line
	Sum    string `json:"sum"`
}

// Statuses of runs and tasks.
const (
	RunActive    = "active"
	RunCompleted = "completed"
	RunFailed    = "failed"
	RunCancelled = "cancelled"

	TaskPending = "pending"
	TaskHeld    = "claimed"
	TaskDone    = "completed"
	TaskLost    = "failed" // permanently
)

// Task is one task and its progress.
type Task struct {
	spec.RunTask
	Status   string         `json:"status"`
	Attempts int            `json:"attempts"`           // claims so far
	Failures int            `json:"failures,omitempty"` // failed attempts that workers reported
	DoneBy   string         `json:"doneBy,omitempty"`   // the worker that completed it
	Reason   string         `json:"reason,omitempty"`   // of the last failure, release or expiry
	Claim    *Claim         `json:"claim,omitempty"`    // the latest
	Proof    map[string]int `json:"proof,omitempty"`    // pieces of evidence: by kind and by kind:name
	Stopped  string         `json:"stopped,omitempty"`  // why supervisors do not start it, until it is claimed
}

// Held reports whether a worker holds the task.
func (t *Task) Held() bool { return t.Claim != nil && t.Claim.Ended == "" }

// Claim is the right of one worker to do one task. Its token fences it: an event
// with another token is refused.
type Claim struct {
	Token    string        `json:"token"` // SEQ-RANDOM, where seq is the number of its event
	Worker   string        `json:"workerId"`
	Acquired clock.Moment  `json:"acquired"`
	Renewed  clock.Moment  `json:"renewed"`
	Lease    time.Duration `json:"lease"`
	Ended    string        `json:"ended,omitempty"` // the type of the event that ended it
	EndedAt  clock.Moment  `json:"endedAt,omitzero"`
}

// Expired reports whether the lease was over at now. The task stays claimed
// until an event of type claim-expired.
func (c *Claim) Expired(now clock.Moment) bool { return now.Since(c.Renewed) > c.Lease }

// Late returns for how long the time of this attempt has been over; 0 or less
// while it lasts, and for a task without a limit or a claim.
func (t *Task) Late(now clock.Moment) time.Duration {
	if !t.Held() || t.TimeoutSeconds == 0 {
		return 0
	}
	return now.Since(t.Claim.Acquired) - t.Timeout()
}

// Worker is one worker of the registry.
type Worker struct {
	ID           string       `json:"id"`
	Registration              // as it was registered
	Retention    Retention    `json:"state"`
	Registered   clock.Moment `json:"registered"`
	Started      clock.Moment `json:"started,omitzero"`
	Handle       *Handle      `json:"handle,omitempty"` // as observed at its start
	Ready        clock.Moment `json:"ready,omitzero"`
	Heartbeat    clock.Moment `json:"heartbeat,omitzero"`
	Output       int64        `json:"output,omitempty"` // bytes printed, at its last renewal
	Moves        []MoveAt     `json:"transitions,omitempty"`
}

// Quiet returns the time since the worker's last recorded sign of life: its
// start, readiness, claim, heartbeat or output.
func (w *Worker) Quiet(now clock.Moment) time.Duration {
	quiet := now.Since(w.Registered)
	for _, m := range []clock.Moment{w.Started, w.Ready, w.Heartbeat} {
		if m.Wall != 0 {
			quiet = min(quiet, now.Since(m))
		}
	}
	return quiet
}

// MoveAt is a move and its time.
type MoveAt struct {
	Move
	At clock.Moment `json:"at"`
}

// Task returns a task by its id, or nil.
func (s *State) Task(id string) *Task {
	if i, ok := s.tasks[id]; ok {
		return &s.Tasks[i]
	}
	return nil
}

// Worker returns a worker by its id, or nil.
func (s *State) Worker(id string) *Worker {
	if i, ok := s.workers[id]; ok {
		return &s.Workers[i]
	}
	return nil
}

// Holder returns the task whose claim has the token, or nil.
func (s *State) Holder(token string) *Task {
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Held() && t.Claim.Token == token {
			return t
		}
	}
	return nil
}

// Settings returns the settings of the run.
func (s *State) Settings() spec.RunSettings { return s.Policy.Settings }

// Over reports whether the run has ended.
func (s *State) Over() bool { return s.Contract.Status != RunActive }

// Ready lists the tasks that can be claimed now, in the order of the graph.
func (s *State) Ready() []*Task {
	var out []*Task
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status == TaskPending && len(s.Waits(t)) == 0 {
			out = append(out, t)
		}
	}
	return out
}

// Beside returns a claimed task that may write what t writes, "" if there is none. Their
// globs are below dir.
func (s *State) Beside(t *Task, dir string) string {
	for _, other := range s.Tasks {
		for _, theirs := range other.Write {
			if other.Held() && other.ID != t.ID && slices.ContainsFunc(t.Write, func(own string) bool { return overlap.Paths(filepath.Join(dir, own), filepath.Join(dir, theirs)) }) {
				return other.ID
			}
		}
	}
	return ""
}

// Waits lists the incomplete dependencies of t.
func (s *State) Waits(t *Task) []string {
	var out []string
	for _, id := range t.DependsOn {
		if s.Task(id).Status != TaskDone {
			out = append(out, id)
		}
	}
	return out
}

// Blocked lists the tasks that can never be done, because a dependency has
// failed permanently.
func (s *State) Blocked() []*Task {
	lost := map[string]bool{}
	var out []*Task
	for i := range s.Tasks { // dependencies come first, see order
		t := &s.Tasks[i]
		if t.Status == TaskLost || t.Status == TaskPending && slices.ContainsFunc(t.DependsOn, func(id string) bool { return lost[id] }) {
			lost[t.ID] = true
			if t.Status == TaskPending {
				out = append(out, t)
			}
		}
	}
	return out
}

// InTree reports whether the workers of a task get separate work trees.
func InTree(t spec.RunTask, set spec.RunSettings) bool {
	if t.Worktree != nil {
		return *t.Worktree
	}
	return set.Worktrees
}

// Missing lists the evidence that t requires and lacks.
func (s *State) Missing(t *Task) []string {
	var out []string
	for _, want := range t.Evidence {
		if t.Proof[want] == 0 {
			out = append(out, want)
		}
	}
	if len(t.Evidence) == 0 && s.Settings().RequireEvidence && len(t.Proof) == 0 {
		out = append(out, "any")
	}
	return out
}

// Overdue lists the tasks whose leases were over at now.
func (s *State) Overdue(now clock.Moment) []*Task {
	var out []*Task
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Held() && t.Claim.Expired(now) {
			out = append(out, t)
		}
	}
	return out
}

// Counts returns the number of tasks in each status.
func (s *State) Counts() map[string]int {
	n := map[string]int{}
	for _, t := range s.Tasks {
		n[t.Status]++
	}
	return n
}

// index rebuilds the maps of tasks and workers after a state was read.
func (s *State) index() {
	s.tasks, s.workers = make(map[string]int, len(s.Tasks)), make(map[string]int, len(s.Workers))
	for i, t := range s.Tasks {
		s.tasks[t.ID] = i
	}
	for i, w := range s.Workers {
		s.workers[w.ID] = i
	}
}
