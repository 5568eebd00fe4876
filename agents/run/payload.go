package run

import (
	"bytes"
	"encoding/json"
	"fmt"

	"aisync.dev/aisync/schema/spec"
)

// The forms of Event.Data.

// Created is the data of the first event: the run's settings, without its tasks.
type Created struct {
	Contract  spec.RunContract  `json:"contract"`
	Objective spec.RunObjective `json:"objective"`
	Policy    spec.RunPolicy    `json:"policy"`
}

// Finished says how a run ended.
type Finished struct {
	Status string `json:"status"` // RunCompleted, RunFailed, RunCancelled
	Reason string `json:"reason,omitempty"`
}

// Reason is why something ended.
type Reason struct {
	Reason string `json:"reason"`
}

// Renewal is the data of a heartbeat that a supervisor records for a worker that
// it sees alive: it renews the claim. It is a sign of life of the worker itself
// only if that has printed something.
type Renewal struct {
	By     string `json:"by"`               // BySupervisor
	Output int64  `json:"output,omitempty"` // bytes that it has printed
}

// Note is the data of a note that supervisors follow. It changes no task and no
// worker; readers that do not know it may ignore it.
type Note struct {
	Stop   string `json:"stop,omitempty"`   // a task that supervisors do not start
	Cancel bool   `json:"cancel,omitempty"` // supervisors start nothing, and end the run when its claims have ended
	Reason string `json:"reason"`
}

// Registration describes a worker before it starts.
type Registration struct {
	Task      string `json:"taskId,omitempty"` // its task
	Adapter   string `json:"adapter"`          // a runtime's id, "command" or "manual"
	Substrate string `json:"substrate"`        // "tmux", "process"; "external": started outside aisync, never closed by it
	Worktree  string `json:"worktree,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Owner     string `json:"owner,omitempty"` // the marker on its handle, which proves ownership
	Log       string `json:"log,omitempty"`   // below the run's folder
	AgentID   string `json:"agentId,omitempty"`
}

// Substrates of workers.
const (
	Tmux     = "tmux"
	Process  = "process"
	External = "external"
)

// Handle is a worker as observed at its start. It later proves ownership: a
// process id alone may have been reused.
type Handle struct {
	PID     int      `json:"pid,omitempty"`
	Start   uint64   `json:"start,omitempty"` // in agents/process's unit
	Boot    string   `json:"boot,omitempty"`  // the kernel's boot id
	Command []string `json:"command,omitempty"`
	Socket  string   `json:"socket,omitempty"` // of the tmux server
	Session string   `json:"session,omitempty"`
	Pane    string   `json:"pane,omitempty"`
	Marker  string   `json:"marker,omitempty"`
}

// Move is a change of a worker's retention, see Transitions.
type Move struct {
	From     Retention `json:"from"`
	To       Retention `json:"to"`
	By       string    `json:"by"`
	Reason   string    `json:"reason"`
	Observed string    `json:"observed,omitempty"`
}

// Recovered describes what a recovery cut off.
type Recovered struct {
	Lines int64  `json:"lines"` // complete lines; a torn one does not count
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"`
	Kept  string `json:"kept"`   // the file with the tail, below the run's folder
	Sum   string `json:"digest"` // of the tail, sha256:…
}

// Evidence is a reference to a proof of work, with its digest.
type Evidence struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"` // "command", "output", "artifact"
	Name     string `json:"name,omitempty"`
	Ref      string `json:"ref,omitempty"`    // a file: below the run's folder for an output, below the workspace for an artifact
	Digest   string `json:"digest,omitempty"` // of that file, sha256:…
	Size     int64  `json:"size,omitempty"`
	Command  string `json:"command,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"`
}

// Proves lists the requirements that e meets: its kind, and its kind and name. A
// failed command is kept but proves nothing.
func (e Evidence) Proves() []string {
	if e.Kind == "command" && (e.ExitCode == nil || *e.ExitCode != 0) {
		return nil
	}
	if e.Name == "" {
		return []string{e.Kind}
	}
	return []string{e.Kind, e.Kind + ":" + e.Name}
}

// pack encodes the Data of an event.
func pack(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// unpack decodes the Data of an event. An unknown field is an error.
func unpack(e Event, v any) error {
	dec := json.NewDecoder(bytes.NewReader(e.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("the data of %s: %w", e.Type, err)
	}
	return nil
}
