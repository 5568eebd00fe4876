package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/resource"
	"aisync.dev/aisync/reconcile/state"
)

// Journal is a running apply. The head and every step's intent are on disk
// before the first change; the end of a step is noted after it, without a sync:
// a lost note costs one more look at the target.
type Journal struct {
	entry Entry
	done  map[resource.Address]Step

	mu sync.Mutex
	w  fsys.FS
	at fsys.LogicalPath
}

// entryLine is one line of the file: the head, a step that is begun again from
// its present state, or the end of a step.
type entryLine struct {
	Head  *Entry `json:"head,omitempty"`
	Again *Step  `json:"again,omitempty"`
	Done  *Step  `json:"done,omitempty"`
}

// Read returns nil if there is none.
func Read(r fsys.Reader, p fsys.LogicalPath) (*Journal, error) {
	b, err := r.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	j := &Journal{done: map[resource.Address]Step{}}
	for n, line := range bytes.SplitAfter(b, []byte("\n")) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // torn: does not count
		}
		var x entryLine
		if err := json.Unmarshal(line, &x); err != nil {
			if n == 0 {
				return nil, fmt.Errorf("read journal %s: line 1: %v; move the file away to go on, and %s", p, err, advice.SeeDoctor)
			}
			continue
		}
		switch {
		case x.Head != nil:
			if x.Head.FormatVersion > Version {
				return nil, fmt.Errorf("journal %s: format_version %d, and this aisync knows up to %d: %w; upgrade aisync", p, x.Head.FormatVersion, Version, state.ErrNewer)
			}
			j.entry = *x.Head
		case x.Again != nil:
			for i := range j.entry.Changes {
				if j.entry.Changes[i].Address == x.Again.Address {
					j.entry.Changes[i] = *x.Again
				}
			}
		case x.Done != nil:
			j.done[x.Done.Address] = *x.Done
		}
	}
	if j.entry.ID == "" {
		return nil, nil // killed while writing the head: nothing was changed
	}
	return j, nil
}

// Begin writes the head. An existing journal with content must have gone
// through Recover before.
func Begin(w fsys.FS, p fsys.LogicalPath, e Entry) (*Journal, error) {
	line, err := json.Marshal(entryLine{Head: &e})
	if err != nil {
		return nil, fmt.Errorf("write journal: %w", err)
	}
	if _, err := w.MkdirAll(p.Dir(), 0o700); err != nil {
		return nil, fmt.Errorf("write journal: %w", err)
	}
	expect := fsys.Expect{Absent: true}
	if j, err := Read(w, p); err != nil || j != nil {
		return nil, errors.Join(errors.New("write journal: an apply that was interrupted comes first; run the command again"), err)
	}
	if b, err := w.ReadFile(p); err == nil { // a torn head
		expect = fsys.Expect{Digest: fsys.Digest(b)}
	}
	if err := w.Replace(p, fsys.Content{Bytes: append(line, '\n'), Mode: 0o600}, expect, nil); err != nil {
		return nil, fmt.Errorf("write journal: %w", err)
	}
	if err := w.Flush(); err != nil {
		return nil, fmt.Errorf("write journal: %w", err)
	}
	return &Journal{entry: e, done: map[resource.Address]Step{}, w: w, at: p}, nil
}

// Entry returns the head, with the steps that were begun again.
func (j *Journal) Entry() Entry { return j.entry }

// Running reports whether this process began j, rather than read it.
func (j *Journal) Running() bool { return j.w != nil }

// Done returns the noted end of the step of a.
func (j *Journal) Done(a resource.Address) (step Step, noted bool) {
	step, noted = j.done[a]
	return step, noted
}

// Disbelieve drops the noted end of the step of a.
func (j *Journal) Disbelieve(a resource.Address) { delete(j.done, a) }

// Revise replaces step i, on disk too.
func (j *Journal) Revise(i int, step Step) error {
	line, err := json.Marshal(entryLine{Again: &step})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entry.Changes[i] = step
	return j.w.Append(j.at, append(line, '\n'), 0o600)
}

// Finish notes the end of one step.
func (j *Journal) Finish(step Step) (err error) {
	defer fsys.Caught(&err)
	line, err := json.Marshal(entryLine{Done: &step})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done[step.Address] = step
	return j.w.Note(j.at, append(line, '\n'))
}

// Did reports whether step, as settled, ended.
func (j *Journal) Did(step Step) bool {
	_, noted := j.done[step.Address]
	return noted || step.Writes && step.After != step.Before
}

// End removes the journal, once everything is recorded.
func (j *Journal) End(w fsys.FS, p fsys.LogicalPath) error {
	b, err := w.ReadFile(p)
	if err != nil {
		return err
	}
	return w.Remove(p, fsys.Expect{Digest: fsys.Digest(b)}, nil)
}
