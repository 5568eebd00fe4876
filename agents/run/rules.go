package run

import (
	"fmt"
	"slices"
	"strings"
)

// Retention is the state of a worker's handle. It is separate from the state of
// its task: a run may be over while workers are kept.
type Retention string

// The six states of the seed, in the order of a worker's life.
const (
	Active            Retention = "active"             // works, or is expected to
	CompletedRetained Retention = "completed-retained" // its work is over; kept on purpose
	SafeToClose       Retention = "safe-to-close"      // over, not kept, nothing depends on it
	StaleRegistry     Retention = "stale-registry"     // the observation contradicts the registration
	CleanupReleased   Retention = "cleanup-released"   // a cleanup has released it
	Closed            Retention = "closed"             // its handle was seen to be gone
)

// The actors that move a worker.
const (
	BySupervisor = "supervisor" // works the graph
	ByOperator   = "operator"   // a person, explicitly
	ByCleanup    = "cleanup"    // only run cleanup --safe
)

// Transition is one legal change of a worker's retention.
type Transition struct {
	From, To Retention
	Rule     string   // its name, for refusals
	By       []string // the actors that may do it
	Means    string   // for people
	idle     bool     // refused while the worker holds a claim or owes evidence
	observed bool     // needs an observation
}

// Transitions are all legal ones; others are refused.
var Transitions = []Transition{
	{From: Active, To: CompletedRetained, Rule: "work-is-over", By: []string{BySupervisor, ByOperator}, idle: true,
		Means: "its work is over; its session and log stay for inspection"},
	{From: Active, To: SafeToClose, Rule: "nothing-depends-on-it", By: []string{BySupervisor, ByOperator}, idle: true,
		Means: "its work is over; nothing keeps it"},
	{From: Active, To: StaleRegistry, Rule: "evidence-contradicts", By: []string{BySupervisor, ByOperator}, observed: true,
		Means: "the observation of it is missing, contradictory or too old"},
	{From: CompletedRetained, To: SafeToClose, Rule: "retention-ended", By: []string{BySupervisor, ByOperator}, idle: true,
		Means: "it is no longer kept"},
	{From: StaleRegistry, To: SafeToClose, Rule: "operator-confirms-stale", By: []string{ByOperator}, idle: true,
		Means: "a person has checked that it may be closed"},
	{From: CompletedRetained, To: CleanupReleased, Rule: "only-cleanup-releases", By: []string{ByCleanup}, idle: true,
		Means: "an explicit cleanup ended its retention"},
	{From: SafeToClose, To: CleanupReleased, Rule: "only-cleanup-releases", By: []string{ByCleanup}, idle: true,
		Means: "an explicit cleanup asked it to end"},
	{From: CleanupReleased, To: Closed, Rule: "closed-is-observed", By: []string{ByCleanup}, observed: true,
		Means: "its handle was seen to be gone"},
}

// Refusal is an event that a rule forbids. Nothing was written.
type Refusal struct {
	Rule string // "stale-token", "only-cleanup-releases" …
	Why  string
	Next string // a command or advice; may be empty
}

// Error implements error and names the rule.
func (r *Refusal) Error() string { return fmt.Sprintf("%s (rule %s)", r.Why, r.Rule) }

// Hint returns what to do next.
func (r *Refusal) Hint() string { return r.Next }

func refuse(rule, next, format string, args ...any) error {
	return &Refusal{Rule: rule, Why: fmt.Sprintf(format, args...), Next: next}
}

// legal returns the transition, or a refusal with the rules that lead away from
// here.
func legal(from, to Retention) (Transition, error) {
	var ways []string
	for _, t := range Transitions {
		if t.From == from && t.To == to {
			return t, nil
		}
		if t.From == from {
			ways = append(ways, fmt.Sprintf("%s (%s, by the %s)", t.To, t.Rule, strings.Join(t.By, " or ")))
		}
	}
	next := "from " + string(from) + " it can become " + strings.Join(ways, ", ")
	if len(ways) == 0 {
		next = "nothing follows " + string(from)
	}
	return Transition{}, refuse("no-such-transition", next, "a worker that is %s cannot become %s", from, to)
}

// move checks one change of a worker against the table.
func (s *State) move(w *Worker, m Move) error {
	if m.From != w.Retention {
		return refuse("state-has-moved", "", "worker %s is %s, not %s", w.ID, w.Retention, m.From)
	}
	t, err := legal(m.From, m.To)
	if err != nil {
		return err
	}
	if !slices.Contains(t.By, m.By) {
		next := ""
		if slices.Contains(t.By, ByCleanup) {
			next = "run: aisync run cleanup --safe"
		}
		return refuse(t.Rule, next, "worker %s goes from %s to %s only by the %s, not by the %s", w.ID, t.From, t.To, strings.Join(t.By, " or the "), m.By)
	}
	if m.Reason == "" {
		return refuse(t.Rule, "", "worker %s: a change from %s to %s needs a reason", w.ID, t.From, t.To)
	}
	if t.observed && m.Observed == "" {
		return refuse(t.Rule, "", "worker %s becomes %s only after an observation", w.ID, t.To)
	}
	if !t.idle {
		return nil
	}
	for i := range s.Tasks {
		if task := &s.Tasks[i]; task.Held() && task.Claim.Worker == w.ID {
			return refuse(t.Rule, "", "worker %s holds the claim of task %s, which has to end first", w.ID, task.ID)
		}
	}
	if owed := s.missingProof(w); len(owed) > 0 {
		return refuse(t.Rule, "", "worker %s still owes evidence of task %s: %s", w.ID, w.Task, strings.Join(owed, ", "))
	}
	return nil
}

// missingProof returns the evidence that a worker's completed task lacks. Completion
// requires evidence, so this finds only what a recovery has cut off.
func (s *State) missingProof(w *Worker) []string {
	if t := s.Task(w.Task); t != nil && t.Status == TaskDone && t.DoneBy == w.ID {
		return s.Missing(t)
	}
	return nil
}
