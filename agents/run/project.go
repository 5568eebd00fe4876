package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/schema/spec"
)

// Files of a run that are derived from its events. Reads and changes begin with
// the checkpoint; the others are for people and other programs.
const (
	checkpointFile = "checkpoint.jsonl"
	contractFile   = "run-contract.json"
	objectiveFile  = "objective.json"
	policyFile     = "policy-selection.json"
	graphFile      = "task-graph.json"
	workersFile    = "workers.json"
	claimsFile     = "claims.json"
)

// Projections are the names of the files for people, in the order in which they
// are written.
var Projections = []string{contractFile, objectiveFile, policyFile, graphFile, workersFile, claimsFile}

// saved is the first line of the checkpoint; the second is the state.
type saved struct {
	SchemaVersion int    `json:"schemaVersion"`
	Digest        string `json:"digest"` // of the second line without its end, sha256:…
}

// checkpoint returns the last saved state, or nil where it is missing or
// invalid: it is a copy; the events are authoritative.
func (r *Run) checkpoint() *State {
	text, err := read(r.root, checkpointFile)
	if err != nil {
		return nil
	}
	return parseCheckpoint(r.ID, text)
}

func parseCheckpoint(id string, text []byte) *State {
	var c saved
	var s State
	first, second, _ := bytes.Cut(text, []byte("\n"))
	second = bytes.TrimSuffix(second, []byte("\n"))
	if json.Unmarshal(first, &c) != nil || c.SchemaVersion != spec.RunVersion || c.Digest != digest(second) || json.Unmarshal(second, &s) != nil {
		return nil
	}
	s.index()
	if s.ID != id || s.AsOf.Seq < 1 || s.Contract.RunID != id || !s.valid() {
		return nil
	}
	if s.Evidence == nil {
		s.Evidence = map[string]int{}
	}
	return &s
}

// valid reports whether s holds every object that it names.
func (s *State) valid() bool {
	if len(s.tasks) != len(s.Tasks) || len(s.workers) != len(s.Workers) {
		return false
	}
	for i, t := range s.Tasks {
		for _, d := range t.DependsOn {
			if j, ok := s.tasks[d]; !ok || j >= i {
				return false
			}
		}
		if t.Claim != nil && s.Worker(t.Claim.Worker) == nil {
			return false
		}
	}
	return true
}

// project writes the checkpoint and the projections of s. It drops errors: the
// change is made, and the next one writes them again.
func (r *Run) project(s *State) {
	if r.store.bare {
		return
	}
	for _, name := range Projections {
		text, err := s.projection(name)
		if err != nil {
			return
		}
		if is, err := read(r.root, name); err == nil && string(is) == string(text) {
			continue
		}
		if r.store.replace(r.root, name, text, false) != nil {
			return
		}
	}
	if text, err := s.save(); err == nil {
		r.store.replace(r.root, checkpointFile, text, false)
	}
}

func (s *State) save() ([]byte, error) {
	state, err := pack(s)
	if err != nil {
		return nil, err
	}
	text, err := pack(saved{spec.RunVersion, digest(state)})
	return append(append(append(text, '\n'), state...), '\n'), err
}

// projection returns the text of one projection.
func (s *State) projection(name string) ([]byte, error) {
	var doc any
	switch name {
	case contractFile:
		doc = s.Contract
	case objectiveFile:
		doc = s.Objective
	case policyFile:
		doc = s.Policy
	case graphFile:
		doc = s.graphDoc()
	case workersFile:
		doc = s.workersDoc()
	case claimsFile:
		doc = s.claimsDoc()
	}
	return indented(doc)
}

// header is the start of every file derived from the events.
type header struct {
	SchemaVersion int    `json:"schemaVersion"`
	RunID         string `json:"runId"`
	AsOf          AsOf   `json:"asOf"`
}

func (s *State) header() header { return header{spec.RunVersion, s.ID, s.AsOf} }

type taskDoc struct {
	spec.RunTask
	Status   string         `json:"status"`
	Attempts int            `json:"attempts"`
	Failures int            `json:"failures"`
	DoneBy   string         `json:"doneBy,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Proof    map[string]int `json:"proof,omitempty"`
}

func (s *State) graphDoc() any {
	tasks := []taskDoc{}
	for _, t := range s.Tasks {
		tasks = append(tasks, taskDoc{t.RunTask, t.Status, t.Attempts, t.Failures, t.DoneBy, t.Reason, t.Proof})
	}
	return struct {
		header
		Tasks []taskDoc `json:"tasks"`
	}{s.header(), tasks}
}

type workerDoc struct {
	ID string `json:"id"`
	Registration
	Owned        bool         `json:"owned"` // aisync started it, and may close it
	State        Retention    `json:"state"`
	Handle       *Handle      `json:"handle,omitempty"`
	RegisteredAt string       `json:"registeredAt"`
	StartedAt    string       `json:"startedAt,omitempty"`
	ReadyAt      string       `json:"readyAt,omitempty"`
	HeartbeatAt  string       `json:"lastHeartbeatAt,omitempty"`
	Retention    *heldDoc     `json:"retention,omitempty"`
	Transitions  []transition `json:"transitions"`
}

type heldDoc struct {
	Reason string `json:"reason"`
	Since  string `json:"since"`
}

type transition struct {
	Move
	Rule string `json:"rule"`
	At   string `json:"at"`
}

func (s *State) workersDoc() any {
	workers := []workerDoc{}
	for _, w := range s.Workers {
		d := workerDoc{ID: w.ID, Registration: w.Registration, Owned: w.Substrate != External, State: w.Retention, Handle: w.Handle,
			RegisteredAt: w.Registered.Stamp(), StartedAt: w.Started.Stamp(), ReadyAt: w.Ready.Stamp(), HeartbeatAt: w.Heartbeat.Stamp(), Transitions: []transition{}}
		for _, m := range w.Moves {
			t, _ := legal(m.From, m.To)
			d.Transitions = append(d.Transitions, transition{m.Move, t.Rule, m.At.Stamp()})
			d.Retention = &heldDoc{m.Reason, m.At.Stamp()}
		}
		workers = append(workers, d)
	}
	return struct {
		header
		Workers []workerDoc `json:"workers"`
	}{s.header(), workers}
}

type claimDoc struct {
	Task       string `json:"taskId"`
	Token      string `json:"token"`
	Worker     string `json:"workerId"`
	AcquiredAt string `json:"acquiredAt"`
	RenewedAt  string `json:"renewedAt"`
	ExpiresAt  string `json:"leaseExpiresAt"` // by the wall clock; the run itself goes by Moment
	ReleasedAt string `json:"releasedAt,omitempty"`
	Ended      string `json:"ended,omitempty"`
}

func (s *State) claimsDoc() any {
	claims := []claimDoc{}
	for _, t := range s.Tasks {
		if c := t.Claim; c != nil {
			until := c.Renewed
			until.Wall += c.Lease.Milliseconds()
			claims = append(claims, claimDoc{t.ID, c.Token, c.Worker, c.Acquired.Stamp(), c.Renewed.Stamp(), until.Stamp(), c.EndedAt.Stamp(), c.Ended})
		}
	}
	return struct {
		header
		Claims []claimDoc `json:"claims"`
	}{s.header(), claims}
}

// Divergence lists the derived files that are damaged, newer than the events, or
// different from them. A file that is only older is fine: a writer was stopped,
// and the next one rewrites it. It writes nothing; no decision depends on these
// files.
func (r *Run) Divergence(s *State) []error {
	var out []error
	for _, name := range Projections {
		text, err := read(r.root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = r.diverges(name, text, s)
		}
		if errors.Is(err, errAhead) { // or a writer was at work meanwhile
			if now, stateErr := r.State(); stateErr == nil && now.AsOf.Seq > s.AsOf.Seq {
				s, err = now, r.diverges(name, text, now)
			}
		}
		if err != nil {
			out = append(out, fmt.Errorf("run %s: %s: %w; the events are authoritative, and the next change rewrites it", r.ID, name, err))
		}
	}
	return out
}

var errAhead = errors.New("ahead of the events")

func (r *Run) diverges(name string, text []byte, s *State) error {
	if want, err := s.projection(name); err == nil && string(want) == string(text) {
		return nil // written by this program, so no other check is needed
	}
	if err := r.store.opts.Check(strings.TrimSuffix(name, ".json"), r.Path+"/"+name, text); err != nil {
		return err
	}
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	switch {
	case h.RunID != s.ID:
		return fmt.Errorf("belongs to run %q", h.RunID)
	case h.AsOf.Seq > s.AsOf.Seq:
		return fmt.Errorf("%w: it has event %d, and the last is event %d", errAhead, h.AsOf.Seq, s.AsOf.Seq)
	case h.AsOf.Seq == s.AsOf.Seq:
		return errors.New("differs from the events: another program changed it")
	}
	return nil
}

func indented(doc any) ([]byte, error) {
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

func digest(text []byte) string {
	h := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(h[:])
}

// Now returns the time of the store's clock.
func (s *Store) Now() clock.Moment { return s.opts.Clock() }
