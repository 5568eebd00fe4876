package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/internal/atomicfile"
)

const recoveryLog = "migrations/recovery.log"

// Recovery describes a recovery, planned or done.
type Recovery struct {
	Run    string   `json:"runId"`
	At     string   `json:"at,omitempty"`
	File   string   `json:"file"`
	Line   int64    `json:"line"` // the first line that is cut off
	Offset int64    `json:"offset"`
	Why    string   `json:"why"`
	Torn   bool     `json:"torn"`  // only the incomplete end of the last write
	Lines  int64    `json:"lines"` // complete lines that are cut off
	Bytes  int64    `json:"bytes"`
	Digest string   `json:"digest"` // of the tail, sha256:…
	Kept   string   `json:"kept"`   // below the run's folder
	Lost   []string `json:"lost"`   // what the tail claims, at most 20 lines; unverified
}

// ErrSound reports that there is nothing to recover.
var ErrSound = errors.New("nothing to recover: the events are sound")

// Damaged returns what a recovery would do, and changes nothing. It returns
// ErrSound where there is nothing to do.
func (r *Run) Damaged() (Recovery, error) {
	_, err := r.State()
	var d *Damage
	if err == nil {
		return Recovery{}, ErrSound
	}
	if !errors.As(err, &d) {
		return Recovery{}, err
	}
	f, err := r.open()
	if err != nil {
		return Recovery{}, err
	}
	defer f.Close()
	rec, _, err := r.survey(f)
	return rec, err
}

// survey finds the sound part of the events, and describes the rest.
func (r *Run) survey(f *os.File) (Recovery, *State, error) {
	s := r.initialState()
	err := r.follow(f, s, nil)
	if err == nil {
		err = r.checkCheckpoint(f, s, r.checkpoint())
	}
	var d *Damage
	if err == nil {
		return Recovery{}, s, ErrSound
	}
	if !errors.As(err, &d) {
		return Recovery{}, s, err
	}
	rec := Recovery{Run: r.ID, File: d.Path, Line: s.AsOf.Seq + 1, Offset: s.AsOf.Offset, Why: d.Why, Torn: d.Torn, Lost: []string{}}
	h := sha256.New()
	var lines lineCounter
	if rec.Bytes, err = io.Copy(io.MultiWriter(h, &lines), io.NewSectionReader(f, s.AsOf.Offset, 1<<62)); err != nil {
		return rec, s, fmt.Errorf("read %s: %w", eventsFile, err)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	rec.Digest, rec.Lines, rec.Lost = "sha256:"+sum, lines.n, append(rec.Lost, lines.says...)
	if cp := r.checkpoint(); cp != nil {
		for _, t := range cp.Tasks {
			if is := s.Task(t.ID); t.Status == TaskDone && (is == nil || is.Status != TaskDone) {
				rec.Lost = append(rec.Lost, "task-completed "+t.ID+" "+t.DoneBy+" (from the checkpoint)")
			}
		}
	}
	rec.Kept = filepath.Join("recovered", fmt.Sprintf("events-from-%d-%s.jsonl", rec.Line, sum[:12]))
	return rec, s, nil
}

// Recover makes the events sound again: it keeps the part from the first unsound
// line on beside them, logs it in migrations/recovery.log, and replaces it by
// one event that records the recovery. It deletes nothing and ends no worker; a
// task whose completion was in the tail is open again. It returns ErrSound where
// there is nothing to do.
//
// After a crash it may be called again: the events are unchanged or recovered.
func (r *Run) Recover() (Recovery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache = nil
	held, err := r.exclusive()
	if err != nil {
		return Recovery{}, err
	}
	defer held.Close()
	rec, _, err := r.recoverLocked()
	return rec, err
}

// recoverLocked recovers under the lock, and returns the run after it.
func (r *Run) recoverLocked() (Recovery, *State, error) {
	f, err := r.open()
	if err != nil {
		return Recovery{}, nil, err
	}
	defer f.Close()
	rec, s, err := r.survey(f)
	if err != nil {
		return rec, s, err
	}
	if s.AsOf.Seq == 0 {
		return rec, s, fmt.Errorf("run %s: the first event is unreadable, so nothing can be recovered: restore the file from a backup, or start another run; nothing was changed", r.ID)
	}
	rec.At = r.Now().Stamp()
	if err := r.keepTail(f, rec); err != nil {
		return rec, s, err
	}
	if err := r.store.logRecovery(rec); err != nil {
		return rec, s, err
	}
	if err := r.replaceTail(f, s, rec); err != nil {
		return rec, s, err
	}
	r.project(s)
	return rec, s, nil
}

func (r *Run) keepTail(f *os.File, rec Recovery) error {
	if err := r.store.callHook("write", rec.Kept); err != nil {
		return err
	}
	if err := r.root.MkdirAll("recovered", 0o700); err != nil {
		return fmt.Errorf("keep the tail of %s: %w", eventsFile, err)
	}
	// The checkpoint may be all that is left of the tail.
	if text, err := read(r.root, checkpointFile); err == nil {
		kept := fmt.Sprintf("recovered/checkpoint-at-%d-%s.jsonl", rec.Line, digest(text)[len("sha256:"):][:12])
		if err := copyTo(r.root, kept, bytes.NewReader(text), nil); err != nil {
			return err
		}
	}
	return copyTo(r.root, rec.Kept, io.NewSectionReader(f, rec.Offset, rec.Bytes), nil)
}

// copyTo copies from and more into a file, under another name until it is
// complete.
func copyTo(root *os.Root, name string, from io.Reader, more []byte) error {
	f, err := atomicfile.New(filepath.Dir(name), atomicfile.Options{Root: root, Temp: "." + filepath.Base(name) + ".tmp"})
	if err == nil {
		_, err = io.Copy(f, io.MultiReader(from, bytes.NewReader(more)))
	}
	if err == nil {
		err = f.Replace(filepath.Base(name))
	}
	if err != nil {
		f.Discard()
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// logRecovery appends a line to migrations/recovery.log.
func (s *Store) logRecovery(rec Recovery) error {
	if s.bare {
		return nil
	}
	if err := s.callHook("append", recoveryLog); err != nil {
		return err
	}
	line, err := pack(rec)
	if err != nil {
		return err
	}
	if err := s.root.MkdirAll("migrations", 0o700); err != nil {
		return fmt.Errorf("write %s: %w", recoveryLog, err)
	}
	f, err := s.root.OpenFile(recoveryLog, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", recoveryLog, err)
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", recoveryLog, err)
	}
	return nil
}

// replaceTail replaces the tail by an event, in one step.
func (r *Run) replaceTail(f *os.File, s *State, rec Recovery) error {
	c := &Change{State: s, Now: r.Now(), id: r.ID, size: s.AsOf.Offset}
	copy(c.last[:], s.AsOf.Sum)
	err := c.add(Event{Type: RunRecovered}, Recovered{Lines: rec.Lines, Bytes: rec.Bytes, Why: rec.Why, Kept: rec.Kept, Sum: rec.Digest})
	if err != nil {
		return err
	}
	if err := r.store.callHook("replace", eventsFile); err != nil {
		return err
	}
	return copyTo(r.root, eventsFile, io.NewSectionReader(f, 0, rec.Offset), c.lines)
}

// lineCounter counts lines and remembers what the first few of them claim.
type lineCounter struct {
	n    int64
	part []byte
	says []string
}

func (c *lineCounter) Write(p []byte) (int, error) {
	for rest := p; ; {
		line, after, end := bytes.Cut(rest, []byte{'\n'})
		if len(c.part) < maxLine {
			c.part = append(c.part, line...)
		}
		if !end {
			return len(p), nil
		}
		c.n++
		c.note()
		rest = after
	}
}

func (c *lineCounter) note() {
	var e struct {
		Type   string `json:"type"`
		Task   string `json:"taskId"`
		Worker string `json:"workerId"`
	}
	if len(c.says) < 20 && json.Unmarshal(c.part, &e) == nil && e.Type != WorkerHeartbeat {
		c.says = append(c.says, strings.TrimSpace(strings.Join([]string{e.Type, e.Task, e.Worker}, " ")))
	}
	c.part = c.part[:0]
}
