package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// record is what a journal file holds: one claim about the part file beside
// it, which is true whenever the file can be read, after a loss of power too.
type record struct {
	Version  int       `json:"version"`
	SHA256   string    `json:"sha256"`
	Size     int64     `json:"size"`
	Offset   int64     `json:"offset"`       // bytes that are verified and synced
	State    []byte    `json:"sha256_state"` // of crypto/sha256 over them
	Tail     [2]block  `json:"tail"`
	Source   string    `json:"source"` // which served the last of them
	Seen     validator `json:"validator"`
	PID      int       `json:"pid"`
	Checksum string    `json:"checksum"` // sha256 of the record without it
}

const recordVersion = 1

func journalPath(part fsys.LogicalPath) fsys.LogicalPath { return part + ".journal" }

// encode renders r with its checksum.
func (r record) encode() ([]byte, error) {
	r.Version, r.PID, r.Checksum = recordVersion, os.Getpid(), ""
	plain, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain)
	r.Checksum = hex.EncodeToString(sum[:])
	data, err := json.Marshal(r)
	return append(data, '\n'), err
}

// decode is strict: a record is exactly what encode wrote, or an error. There
// is no migration, as reading the part again gives the same knowledge.
func decode(data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, err
	}
	plain := r
	plain.Checksum = ""
	bare, err := json.Marshal(plain)
	if err != nil {
		return record{}, err
	}
	if sum := sha256.Sum256(bare); r.Version != recordVersion || hex.EncodeToString(sum[:]) != r.Checksum {
		return record{}, errors.New("damaged, or of another version")
	}
	return r, nil
}

// journal keeps the newest record of one download on disk.
type journal struct {
	store   Store
	path    fsys.LogicalPath
	file    *os.File // the part
	now     func() time.Time
	held    []byte // what the journal file holds; nil: there is none
	offset  int64  // of the last record that save was given
	at      time.Time
	pending chan error // the save that is under way
}

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

// due reports whether offset is far enough, or the last record old enough.
func (j *journal) due(offset, bytes int64, every time.Duration) bool {
	return offset > j.offset && (offset-j.offset >= bytes || j.now().Sub(j.at) >= every)
}

// begin saves r while the download goes on. It first waits for the save
// before, so that a slow disk slows the download instead of what a kill costs
// growing.
func (j *journal) begin(r record) error {
	if err := j.wait(); err != nil {
		return err
	}
	done := make(chan error, 1)
	j.pending, j.offset, j.at = done, r.Offset, j.now()
	go func() { done <- j.write(r) }()
	return nil
}

// save saves r and returns when it is on disk.
func (j *journal) save(r record) error {
	if err := j.begin(r); err != nil {
		return err
	}
	return j.wait()
}

// wait returns the result of the save that is under way, if one is.
func (j *journal) wait() error {
	if j.pending == nil {
		return nil
	}
	err := <-j.pending
	j.pending = nil
	if err != nil {
		j.offset = -1 // what is on disk says less
	}
	return err
}

// write syncs the part before it claims anything about it.
func (j *journal) write(r record) error {
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
	if err := j.wait(); err != nil {
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
