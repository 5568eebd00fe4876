// Package worker starts, observes and ends the processes that work for a run. A
// worker outlives its starter: a keeper, which is this program again, runs the
// command and records its end in the worker's folder. Only End ends a worker,
// and nothing deletes a file. Call Prepare and Starter.Start, then Observe and
// End; Keep is the keeper.
package worker

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"
)

// Substrates: where a worker runs.
const (
	Process = "process" // a new session without a terminal
	Tmux    = "tmux"    // a window of a tmux session
)

// Files of a worker's folder. Each is written once, in one step.
const (
	startFile  = "start.json"    // Job, by its starter
	ticketFile = "ticket.json"   // Ticket, by the keeper that runs it, or by the process that calls it off
	beginFile  = "begin.json"    // Begin, by its starter
	boxFile    = "sandbox.json"  // Confined, by its starter
	asksFile   = "asks.json"     // Asks, by the keeper
	saidFile   = "answered.json" // Asks, by the keeper: its question is answered
	readyFile  = "ready.json"    // Ready, by the keeper
	endFile    = "end.json"      // Exit, by the keeper
	lockFile   = "lock"          // held while the keeper or a process that it started lives
)

// Job describes a worker.
type Job struct {
	Schema    int      `json:"schemaVersion"`
	Worker    string   `json:"worker"`
	Marker    string   `json:"marker"` // random: it identifies this worker
	Substrate string   `json:"substrate"`
	Command   []string `json:"command"`
	Dir       string   `json:"dir"` // absolute
	Log       string   `json:"log"` // absolute: the file for its output
	By        Identity `json:"startedBy"`
	// For a program in tmux that shows a prompt: see spec.Launch.
	Ready      string   `json:"ready,omitempty"`
	ReadyDelay int      `json:"readyDelayMilliseconds,omitempty"`
	Dialogs    []string `json:"dialogs,omitempty"`
	// Agent says that the command is an agent program: what it leaves running ends
	// with it.
	Agent bool `json:"agent,omitempty"`
	// Sandbox says that the command runs in the sandbox that the worker's Confined
	// describes, or not at all.
	Sandbox bool `json:"sandbox,omitempty"`
}

// schema is the version of the files here.
const schema = 1

// NewMarker returns a new random marker.
func NewMarker() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// Ticket is the right to run a worker. A worker gets at most one: a second
// keeper does nothing.
type Ticket struct {
	Schema int       `json:"schemaVersion"`
	Worker string    `json:"worker"`
	Marker string    `json:"marker"`
	Void   string    `json:"void,omitempty"` // why it must not run
	Keeper *Identity `json:"keeper,omitempty"`
	Pane   *Pane     `json:"pane,omitempty"`
	At     time.Time `json:"at"`
}

// Pane is the place of a worker's window in tmux.
type Pane struct {
	Socket string `json:"socket"` // the server's, as a path
	ID     string `json:"pane"`   // %7; other servers have such a pane too: see Job.Marker
}

// Ready records that the command takes input.
type Ready struct {
	Schema int       `json:"schemaVersion"`
	Marker string    `json:"marker"`
	How    string    `json:"how"`
	At     time.Time `json:"at"`
}

// Begin is what a worker found when it started, by which its work is told.
type Begin struct {
	Schema int       `json:"schemaVersion"`
	Marker string    `json:"marker"`
	Commit string    `json:"commit,omitempty"` // of its work tree
	Stamp  string    `json:"stamp,omitempty"`  // of the workspace, without a work tree
	At     time.Time `json:"at"`
}

// RecordBegin writes b in a worker's folder, once.
func RecordBegin(folder string, b Begin) error {
	b.Schema = schema
	_, err := createOnce(folder, beginFile, b)
	return err
}

// ReadBegin returns what RecordBegin wrote, or a Begin without fields.
func ReadBegin(folder, marker string) (Begin, error) {
	var b Begin
	_, err := load(folder, beginFile, &b, func() string { return b.Marker }, marker)
	return b, err
}

// Asks records the last question that the command shows, or that it is answered.
type Asks struct {
	Schema int       `json:"schemaVersion"`
	Marker string    `json:"marker"`
	Text   string    `json:"text"`
	At     time.Time `json:"at"`
}

// Exit is how the command ended.
type Exit struct {
	Schema int       `json:"schemaVersion"`
	Marker string    `json:"marker"`
	Code   int       `json:"code"`             // 128+n where signal n ended it, 127 where it could not be started
	Signal string    `json:"signal,omitempty"` // in words
	Error  string    `json:"error,omitempty"`  // why it could not be started or watched
	Left   []string  `json:"left,omitempty"`   // the command lines that it left running, and that were ended with it
	At     time.Time `json:"at"`
}

// Errors of Prepare and End.
var (
	ErrStarted   = errors.New("worker already started")
	ErrNotOurs   = errors.New("not proved to be ours")
	ErrStillHere = errors.New("still running")
)

// Prepare creates the worker's folder and writes its job. It returns ErrStarted
// if a job was written there before.
func Prepare(folder string, j Job) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of worker %s: %w", j.Worker, err)
	}
	j.Schema = schema
	first, err := createOnce(folder, startFile, j)
	if err == nil && !first {
		err = ErrStarted
	}
	if err != nil {
		return fmt.Errorf("worker %s: %w", j.Worker, err)
	}
	return nil
}

// CallOff prevents a worker without a ticket from ever running its command. It
// reports false if the worker has its ticket already, or is called off.
func CallOff(folder, worker, marker, why string) (bool, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, fmt.Errorf("call off worker %s: %w", worker, err)
	}
	first, err := createOnce(folder, ticketFile, Ticket{Schema: schema, Worker: worker, Marker: marker, Void: why, At: time.Now().UTC()})
	if err != nil {
		return false, fmt.Errorf("call off worker %s: %w", worker, err)
	}
	return first, nil
}
