package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// journal keeps the newest record of one download on disk.
type journal struct {
	store Store
	path  fsys.LogicalPath
	file  *os.File // the part
	now   func() time.Time
	bytes int64         // that a kill may cost; after half of them the next record is due, as the last may still be on its way
	every time.Duration // since the last record: the next is due
	none  bool          // nothing is written down

	mu      sync.Mutex
	held    []byte // what the journal file holds; nil: there is none
	landed  int64  // of the last record that a save was given; -1: it failed
	at      time.Time
	pending chan error  // the save that is under way
	nudged  int64       // landed when the disk was last told to begin
	nudging atomic.Bool // that is still under way: one at a time, a slow disk is busy enough
	nudges  sync.WaitGroup
}

// nudge is after how many bytes the disk is told to begin with them, so that
// it has little left to do when they are synced.
const nudge = 8 << 20

// load returns the record that is there. ok is false where there is none that
// can be believed.
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

// landing saves what make returns, if so many bytes have landed since the last
// time, or so long ago it was, and returns while that goes on. It first waits
// for the save before, and so does every other caller: a slow disk slows the
// download instead of what a kill costs growing.
func (j *journal) landing(landed int64, make func() (record, int64)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.none && landed-j.nudged >= nudge && j.nudging.CompareAndSwap(false, true) {
		j.nudged = landed
		j.nudges.Go(func() {
			defer j.nudging.Store(false)
			writeOut(j.file)
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

// settle returns the result of the save that is under way, if one is.
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
		j.landed = -1 // what is on disk says less
	}
	return err
}

// write syncs the part before it claims anything about it.
func (j *journal) write(r record) (err error) {
	defer fsys.Caught(&err)
	data, err := r.encode()
	if err != nil {
		return fmt.Errorf("%w: encode the journal: %w", errLocal, err)
	}
	if err := syncData(j.file); err != nil {
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

// remove takes the journal away.
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
