package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"aisync.dev/aisync/internal/fetch/partfile"
	"aisync.dev/aisync/reconcile/fsys"
)

// journal keeps the newest record of one download on disk.
type journal struct {
	store Store
	path  fsys.LogicalPath
	file  *partfile.File
	now   func() time.Time
	bytes int64         // that a loss of power may cost; the next record is due after half of them, because the last may still be in flight
	every time.Duration // the next record is due so long after the last
	none  bool          // no journal

	mu      sync.Mutex
	held    []byte // content of the journal file; nil: none
	landed  int64  // at the last save; -1: it failed
	at      time.Time
	pending chan error  // the running save
	nudged  int64       // landed at the last nudge
	nudging atomic.Bool // a nudge is running: one at a time, a slow disk is busy enough
	nudges  sync.WaitGroup
}

// nudge is the number of bytes after which the disk is told to start writing,
// so that a sync has little left to do.
const nudge = 8 << 20

// load returns the record on disk. ok is false if there is none, or it is
// damaged.
func (j *journal) load() (r record, ok bool, err error) {
	data, err := j.store.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("%w: read the journal: %w", errLocal, err)
	}
	j.held = data
	r, err = decode(data)
	return r, err == nil, nil
}

// landing saves what make returns if enough bytes have landed, or enough time
// has passed, since the last save, and returns while the save runs. It first
// waits for the previous save: a slow disk slows the download down, but does
// not increase the cost of a kill.
func (j *journal) landing(landed int64, make func() (record, int64)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.none && landed-j.nudged >= nudge && j.nudging.CompareAndSwap(false, true) {
		j.nudged = landed
		j.nudges.Go(func() {
			defer j.nudging.Store(false)
			j.file.WriteOut()
		})
	}
	if !j.due(landed) {
		return nil
	}
	if err := j.wait(); err != nil {
		return err
	}
	j.begin(make())
	return nil
}

func (j *journal) due(landed int64) bool {
	return !j.none && landed > j.landed && (landed-j.landed >= j.bytes/2 || j.now().Sub(j.at) >= j.every)
}

func (j *journal) begin(r record, landed int64) {
	done := make(chan error, 1)
	j.pending, j.landed, j.at = done, landed, j.now()
	go func() { done <- j.write(r) }()
}

// save saves r and returns when it is on disk.
func (j *journal) save(r record, landed int64) error {
	if j.none && j.held == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.wait(); err != nil {
		return err
	}
	j.begin(r, landed)
	return j.wait()
}

// settle returns the result of the running save, if any.
func (j *journal) settle() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.wait()
}

func (j *journal) wait() error {
	j.nudges.Wait()
	if j.pending == nil {
		return nil
	}
	err := <-j.pending
	j.pending = nil
	if err != nil {
		j.landed = -1 // what is on disk is older
	}
	return err
}

// write syncs the part before recording its state.
func (j *journal) write(r record) (err error) {
	defer fsys.Caught(&err)
	data, err := r.encode()
	if err != nil {
		return fmt.Errorf("%w: encode the journal: %w", errLocal, err)
	}
	if err := j.file.SyncData(); err != nil {
		return fmt.Errorf("%w: sync the part: %w", errLocal, err)
	}
	first := j.held == nil
	if err := j.store.Replace(j.path, fsys.Content{Bytes: data, Mode: 0o600}, j.expect(), nil); err != nil {
		return fmt.Errorf("%w: write the journal: %w", errLocal, err)
	}
	j.held = data
	if !first {
		return nil
	}
	if err := j.store.Flush(); err != nil { // the names of part and journal
		return fmt.Errorf("%w: sync the folder of the part: %w", errLocal, err)
	}
	return nil
}

// remove removes the journal.
func (j *journal) remove() error {
	if err := j.settle(); err != nil {
		return err
	}
	if j.held == nil {
		return nil
	}
	if err := j.store.Remove(j.path, j.expect(), nil); err != nil {
		return fmt.Errorf("%w: remove the journal: %w", errLocal, err)
	}
	j.held = nil
	return nil
}

func (j *journal) expect() fsys.Expect {
	if j.held == nil {
		return fsys.Expect{Absent: true}
	}
	return fsys.Expect{Digest: fsys.Digest(j.held)}
}
