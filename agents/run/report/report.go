// Package report summarises one run for a person: its task graph, the attempts
// over time, the workers by state, and the evidence. It only reads. Call
// Collect.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/run"
)

// Report is one run as its events describe it.
type Report struct {
	FormatVersion string           `json:"format_version"`
	Run           string           `json:"run"`
	Goal          string           `json:"goal"`
	Acceptance    []string         `json:"acceptance"`
	Status        string           `json:"status"`
	Reason        string           `json:"reason,omitempty"` // why it is over
	From          time.Time        `json:"from"`
	To            time.Time        `json:"to"`     // its end; else the last event
	Events        int64            `json:"events"` // number read, with verified checksums
	Recovered     int              `json:"recovered"`
	Choices       []Choice         `json:"choices"` // of policy-selection
	Tasks         []Task           `json:"tasks"`   // in the graph's order
	Workers       []Worker         `json:"workers"` // by state, then id
	States        []StateCount     `json:"states"`
	Attempts      []Attempt        `json:"attempts"` // the timeline
	Evidence      []run.EvidenceAt `json:"evidence"`
}

// Choice is one setting of a run and its source.
type Choice struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	From    string `json:"from"`
}

// Task is one task and its progress.
type Task struct {
	ID        string   `json:"id"`
	Title     string   `json:"title,omitempty"`
	Status    string   `json:"status"` // pending, claimed, completed, failed, blocked
	DependsOn []string `json:"depends_on"`
	Attempts  int      `json:"attempts"`
	Worker    string   `json:"worker,omitempty"` // that completed or holds it
	Reason    string   `json:"reason,omitempty"`
	Missing   []string `json:"missing"` // evidence that it requires and lacks
	Seconds   float64  `json:"seconds"` // of all attempts
}

// Worker is one worker of the registry.
type Worker struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Since     time.Time `json:"since"`
	Why       string    `json:"why,omitempty"` // of the last change of its state
	Task      string    `json:"task,omitempty"`
	Adapter   string    `json:"adapter"`
	Substrate string    `json:"substrate"`
	Worktree  string    `json:"worktree,omitempty"` // its work tree, if it has one
	Branch    string    `json:"branch,omitempty"`   // of that tree
	Heartbeat time.Time `json:"heartbeat,omitzero"`
}

// StateCount is the number of workers in a retention state.
type StateCount struct {
	State   string `json:"state"`
	Workers int    `json:"workers"`
}

// Attempt is one claim of a task: who held it, from when to when.
type Attempt struct {
	Task   string    `json:"task"`
	Worker string    `json:"worker"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"` // the last event, if it is still open
	Ended  string    `json:"ended"`
}

// open is the end of an attempt in progress.
const open = "open"

var endings = map[string]string{
	run.TaskCompleted: "completed", run.TaskFailed: "failed", run.ClaimReleased: "released", run.ClaimExpired: "expired",
}

// Collect reads a run once, from its first event to its last. With verify it
// digests each file of evidence again.
func Collect(r *run.Run, verify bool) (*Report, error) {
	doc := &Report{FormatVersion: "1.0", Acceptance: []string{}, Choices: []Choice{}, Tasks: []Task{}, Workers: []Worker{}, Attempts: []Attempt{}, Evidence: []run.EvidenceAt{}}
	held := map[string]int{} // open attempt by task
	over := false
	state, err := r.Replay(func(e run.Event) error {
		doc.Events++
		at := e.At.Time()
		if doc.Events == 1 {
			doc.From = at
		}
		if !over { // later cleanup does not count
			doc.To = at
		}
		switch e.Type {
		case run.RunFinished:
			over = true
		case run.TaskClaimed:
			held[e.Task] = len(doc.Attempts)
			doc.Attempts = append(doc.Attempts, Attempt{Task: e.Task, Worker: e.Worker, From: at, Ended: open})
		case run.TaskCompleted, run.TaskFailed, run.ClaimReleased, run.ClaimExpired:
			if i, ok := held[e.Task]; ok {
				doc.Attempts[i].To, doc.Attempts[i].Ended = at, endings[e.Type]
				delete(held, e.Task)
			}
		case run.EvidenceAdded:
			piece := run.EvidenceAt{Seq: e.Seq, At: e.At.Stamp(), Task: e.Task, Worker: e.Worker}
			if err := json.Unmarshal(e.Data, &piece.Evidence); err != nil {
				return fmt.Errorf("event %d: %w", e.Seq, err)
			}
			doc.Evidence = append(doc.Evidence, piece)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if verify {
		for i := range doc.Evidence {
			r.CheckEvidence(&doc.Evidence[i])
		}
	}
	doc.take(state)
	return doc, nil
}

// take adds what the state after the last event holds.
func (d *Report) take(s *run.State) {
	d.Run, d.Goal, d.Status, d.Reason, d.Recovered = s.ID, s.Contract.Goal, s.Contract.Status, s.Reason, s.Recovered
	d.Acceptance = append(d.Acceptance, s.Contract.Acceptance...)
	for _, c := range s.Policy.Reasons {
		d.Choices = append(d.Choices, Choice{c.Setting, c.Value, c.From})
	}
	took := map[string]time.Duration{}
	for i, a := range d.Attempts {
		if a.Ended == open {
			d.Attempts[i].To = d.To
		}
		took[a.Task] += max(d.Attempts[i].To.Sub(a.From), 0) // clocks may go back
	}
	blocked := map[string]bool{}
	for _, t := range s.Blocked() {
		blocked[t.ID] = true
	}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		one := Task{ID: t.ID, Title: t.Title, Status: t.Status, DependsOn: append([]string{}, t.DependsOn...), Attempts: t.Attempts,
			Worker: t.DoneBy, Reason: t.Reason, Missing: append([]string{}, s.Missing(t)...), Seconds: took[t.ID].Seconds()}
		switch {
		case blocked[t.ID]:
			one.Status = "blocked"
		case t.Held():
			one.Worker = t.Claim.Worker
		case t.Status == run.TaskDone:
			one.Reason = "" // of an earlier attempt
		}
		d.Tasks = append(d.Tasks, one)
	}
	count := map[string]int{}
	for _, w := range s.Workers {
		one := Worker{ID: w.ID, State: string(w.Retention), Since: w.Registered.Time(), Task: w.Task, Adapter: w.Adapter, Substrate: w.Substrate, Worktree: w.Worktree, Branch: w.Branch}
		if w.Heartbeat != (clock.Moment{}) {
			one.Heartbeat = w.Heartbeat.Time()
		}
		if n := len(w.Moves); n > 0 {
			one.Since, one.Why = w.Moves[n-1].At.Time(), w.Moves[n-1].Reason
		}
		count[one.State]++
		d.Workers = append(d.Workers, one)
	}
	sort.SliceStable(d.Workers, func(i, j int) bool {
		a, b := &d.Workers[i], &d.Workers[j]
		return cmp.Or(cmp.Compare(slices.Index(States, a.State), slices.Index(States, b.State)), cmp.Compare(a.ID, b.ID)) < 0
	})
	for _, state := range States {
		d.States = append(d.States, StateCount{state, count[state]})
	}
}

// States are a worker's retention states, in the order of its life.
var States = []string{string(run.Active), string(run.CompletedRetained), string(run.SafeToClose), string(run.StaleRegistry), string(run.CleanupReleased), string(run.Closed)}

// Count returns the number of tasks in a status.
func (d *Report) Count(status string) int {
	n := 0
	for _, t := range d.Tasks {
		if t.Status == status {
			n++
		}
	}
	return n
}
