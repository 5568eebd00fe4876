package worker

import (
	"fmt"
	"os"
	"time"
)

// Taken is a worker that is this process: it does the work itself.
type Taken struct {
	folder, marker string
	lock           *os.File
}

// Take makes this process the prepared worker of a folder. ErrStarted: another
// has its ticket, or it was called off. Call End.
func Take(folder, marker string) (*Taken, error) {
	k, err := newKeeper(folder, marker)
	if err != nil {
		return nil, fmt.Errorf("worker in %s: %w", folder, err)
	}
	first, err := createOnce(folder, ticketFile, k.ticket)
	if err == nil && !first {
		err = ErrStarted
	}
	if err == nil {
		_, err = createOnce(folder, readyFile, Ready{Schema: schema, Marker: marker, How: "started", At: time.Now().UTC()})
	}
	if err != nil {
		k.lock.Close()
		return nil, fmt.Errorf("worker %s: %w", k.job.Worker, err)
	}
	return &Taken{folder, marker, k.lock}, nil
}

// End records how the work ended: the exit code that a command would have, and
// why it failed.
func (h *Taken) End(code int, why string) error {
	defer h.lock.Close()
	return RecordEnd(h.folder, h.marker, code, why)
}

// RecordEnd records the end of a worker that was a process like this, and did not
// record it: it is known otherwise.
func RecordEnd(folder, marker string, code int, why string) error {
	_, err := createOnce(folder, endFile, Exit{Schema: schema, Marker: marker, Code: code, Error: why, At: time.Now().UTC()})
	return err
}
