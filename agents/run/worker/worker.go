// Package worker starts the processes that work for a run, says what became of
// them, and ends them. A worker outlives whoever started it: a keeper, which is
// this program again, runs its command and writes down in the worker's folder how
// that went. Nothing here ends a worker but End, and nothing deletes a file.
// Start reading at Job, Start, Observe and Keep.
package worker

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"
)

// Substrates: what a worker runs in.
const (
	Process = "process" // a session of its own, without a terminal
	Tmux    = "tmux"    // a window of a tmux session
)

// Files of a worker's folder. Each is written once, whole, by the one named.
const (
	startFile  = "start.json"  // Job, by who starts it
	ticketFile = "ticket.json" // Ticket, by the keeper that runs it, or by who calls it off
	readyFile  = "ready.json"  // Ready, by the keeper
	endFile    = "end.json"    // Exit, by the keeper
	lockFile   = "lock"        // held while the keeper or anything that it started lives
)

// Job is what a worker is started for.
type Job struct {
	Schema    int      `json:"schemaVersion"`
	Worker    string   `json:"worker"`
	Marker    string   `json:"marker"` // random: it tells this worker from all others
	Substrate string   `json:"substrate"`
	Command   []string `json:"command"`
	Dir       string   `json:"dir"` // absolute
	Log       string   `json:"log"` // absolute: the file that gets what it prints
	By        Identity `json:"startedBy"`
	// Of a program in tmux that shows when it takes input: see spec.Launch.
	Ready      string `json:"ready,omitempty"`
	ReadyDelay int    `json:"readyDelayMilliseconds,omitempty"`
}

// schema is the version of the files here.
const schema = 1

// NewMarker makes a marker.
func NewMarker() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}

// Ticket is who may run a worker. There is one at most for a worker's life: who
// comes second with another does nothing.
type Ticket struct {
	Schema int       `json:"schemaVersion"`
	Worker string    `json:"worker"`
	Marker string    `json:"marker"`
	Void   string    `json:"void,omitempty"` // why nobody may
	Keeper *Identity `json:"keeper,omitempty"`
	Pane   *Pane     `json:"pane,omitempty"`
	At     time.Time `json:"at"`
}

// Pane is where a worker's window is, in tmux's words.
type Pane struct {
	Socket string `json:"socket"` // the server's, as a path
	ID     string `json:"pane"`   // %7; another server has such a pane too: see Job.Marker
}

// Ready says that the command takes input.
type Ready struct {
	Schema int       `json:"schemaVersion"`
	Marker string    `json:"marker"`
	How    string    `json:"how"`
	At     time.Time `json:"at"`
}

// Exit is how the command ended.
type Exit struct {
	Schema int       `json:"schemaVersion"`
	Marker string    `json:"marker"`
	Code   int       `json:"code"`             // 128+n where signal n ended it, 127 where it could not be started
	Signal string    `json:"signal,omitempty"` // in words
	Error  string    `json:"error,omitempty"`  // why it could not be started or watched
	At     time.Time `json:"at"`
}

// What Start and End say no with.
var (
	ErrStarted   = errors.New("this worker has been started before")
	ErrNotOurs   = errors.New("it is not proved to be ours")
	ErrStillHere = errors.New("it has not ended")
)

// Prepare makes the worker's folder and writes what it is to do. ErrStarted: it
// has been done before, for this job or another.
func Prepare(folder string, j Job) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of worker %s: %w", j.Worker, err)
	}
	j.Schema = schema
	first, err := once(folder, startFile, j)
	if err == nil && !first {
		err = ErrStarted
	}
	if err != nil {
		return fmt.Errorf("worker %s: %w", j.Worker, err)
	}
	return nil
}

// CallOff calls a worker off that has no ticket yet: whatever of it comes later runs
// nothing. It reports false where the worker was faster, or is called off already.
func CallOff(folder, worker, marker, why string) (bool, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, fmt.Errorf("call off worker %s: %w", worker, err)
	}
	first, err := once(folder, ticketFile, Ticket{Schema: schema, Worker: worker, Marker: marker, Void: why, At: time.Now().UTC()})
	if err != nil {
		return false, fmt.Errorf("call off worker %s: %w", worker, err)
	}
	return first, nil
}
