package worker

import (
	"fmt"
	"time"
)

// Files with a Request. A person's is separate, because it may follow the other.
const (
	stopFile = "stop.json" // by a person
	lateFile = "late.json" // by a supervisor, when the time for the task is over
)

// Request asks for a worker's end before it has done its task. It is written
// before the worker gets a signal, so that after a crash the end has its reason.
type Request struct {
	Schema   int       `json:"schemaVersion"`
	Marker   string    `json:"marker"`
	Why      string    `json:"why"`
	ByPerson bool      `json:"byPerson,omitempty"` // the task is not to be tried again
	At       time.Time `json:"at"`
}

// Ask records a request for the end of a worker. The first of each kind counts.
// End or CallOff then carries it out.
func Ask(folder, marker, why string, byPerson bool) error {
	name := lateFile
	if byPerson {
		name = stopFile
	}
	if _, err := createOnce(folder, name, Request{schema, marker, why, byPerson, time.Now().UTC()}); err != nil {
		return fmt.Errorf("ask a worker to end: %w", err)
	}
	return nil
}

// requested returns the request for the end of a worker, nil if there is none.
func requested(folder, marker string) (*Request, error) {
	for _, name := range []string{stopFile, lateFile} {
		var r Request
		if is, err := load(folder, name, &r, func() string { return r.Marker }, marker); is || err != nil {
			return &r, err
		}
	}
	return nil, nil
}
