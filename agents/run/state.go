package run

import (
	"slices"
	"time"

	"aisync.dev/aisync/schema/spec"
)

// State is a run after some event: what replaying its events up to there
// gives, and nothing else goes into it.
type State struct {
	ID        string            `json:"runId"`
	AsOf      AsOf              `json:"asOf"`
	Contract  spec.RunContract  `json:"contract"` // with the status as it is now
	Objective spec.RunObjective `json:"objective"`
	Policy    spec.RunPolicy    `json:"policy"`
	Reason    string            `json:"reason,omitempty"` // why it is over
	Updated   Moment            `json:"updated"`
	Tasks     []Task            `json:"tasks"`
	Workers   []Worker          `json:"workers"`
	Evidence  map[string]int    `json:"evidence,omitempty"` // of the run itself: requirement to pieces
	Pieces    int               `json:"pieces,omitempty"`   // of evidence, in all
	Recovered int               `json:"recovered,omitempty"`

	tasks   map[string]int
	workers map[string]int
}

// AsOf names the last event that a state, or a file made from it, has seen.
type AsOf struct {
	Seq    int64  `json:"seq"`
	Offset int64  `json:"offset"` // where the next line begins
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
	TaskLost    = "failed" // for good
)

// Task is one task and how far it is.
type Task struct {
	spec.RunTask
	Status   string         `json:"status"`
	Attempts int            `json:"attempts"`           // claims so far
	Failures int            `json:"failures,omitempty"` // failed attempts, as workers reported them
	DoneBy   string         `json:"doneBy,omitempty"`   // the worker that completed it
	Reason   string         `json:"reason,omitempty"`   // of the last failure, release or expiry
	Claim    *Claim         `json:"claim,omitempty"`    // the last one
	Proof    map[string]int `json:"proof,omitempty"`    // pieces of evidence: by kind and by kind:name
}

// Held reports whether a worker holds the task.
func (t *Task) Held() bool { return t.Claim != nil && t.Claim.Ended == "" }

// Claim is the right of one worker to do one task. Its token fences it: an
// event with another token is refused.
type Claim struct {
	Token    string        `json:"token"` // SEQ-RANDOM: seq is that of its event, and so grows
	Worker   string        `json:"workerId"`
	Acquired Moment        `json:"acquired"`
	Renewed  Moment        `json:"renewed"`
	Lease    time.Duration `json:"lease"`
	Ended    string        `json:"ended,omitempty"` // the type of event that ended it
	EndedAt  Moment        `json:"endedAt,omitzero"`
}

// Expired reports whether the lease was over at now. That alone frees nothing:
// an event of type claim-expired does.
func (c *Claim) Expired(now Moment) bool { return now.Since(c.Renewed) > c.Lease }

// Worker is one worker of the registry.
type Worker struct {
	ID           string    `json:"id"`
	Registration           // as it was registered
	Retention    Retention `json:"state"`
	Registered   Moment    `json:"registered"`
	Started      Moment    `json:"started,omitzero"`
	Handle       *Handle   `json:"handle,omitempty"` // as it was observed when it was started
	Ready        Moment    `json:"ready,omitzero"`
	Heartbeat    Moment    `json:"heartbeat,omitzero"`
	Moves        []MoveAt  `json:"transitions,omitempty"`
}

// MoveAt is a move and when it was made.
type MoveAt struct {
	Move
	At Moment `json:"at"`
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

// Holder returns the task and the claim that a token stands for, or nil.
func (s *State) Holder(token string) *Task {
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Held() && t.Claim.Token == token {
			return t
		}
	}
	return nil
}

// Settings are what the run was started with.
func (s *State) Settings() spec.RunSettings { return s.Policy.Settings }

// Over reports whether the run has ended.
func (s *State) Over() bool { return s.Contract.Status != RunActive }

// Ready lists the tasks that may be claimed now, in the order of the graph.
func (s *State) Ready() []*Task {
	var out []*Task
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status == TaskPending && len(s.Waits(t)) == 0 {
			out = append(out, t)
		}
	}
	return out
}

// Waits lists what t depends on and is not completed.
func (s *State) Waits(t *Task) []string {
	var out []string
	for _, id := range t.DependsOn {
		if s.Task(id).Status != TaskDone {
			out = append(out, id)
		}
	}
	return out
}

// Blocked lists the tasks that can never be done, because one that they wait
// for has failed for good.
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

// Missing lists the evidence that t must leave and has not.
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

// Overdue lists the claims whose leases were over at now.
func (s *State) Overdue(now Moment) []*Task {
	var out []*Task
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Held() && t.Claim.Expired(now) {
			out = append(out, t)
		}
	}
	return out
}

// Counts is how many tasks are in each status.
func (s *State) Counts() map[string]int {
	n := map[string]int{}
	for _, t := range s.Tasks {
		n[t.Status]++
	}
	return n
}

// index finds the tasks and workers again after a state was read.
func (s *State) index() {
	s.tasks, s.workers = make(map[string]int, len(s.Tasks)), make(map[string]int, len(s.Workers))
	for i, t := range s.Tasks {
		s.tasks[t.ID] = i
	}
	for i, w := range s.Workers {
		s.workers[w.ID] = i
	}
}
