package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
)

// JournalVersion is the format of journals and of the entries that are kept of
// finished applies.
const JournalVersion = 1

// Entry is what is known of one apply, for rollback and for people.
type Entry struct {
	FormatVersion int         `json:"format_version"`
	ID            string      `json:"id"`
	Time          time.Time   `json:"time"`
	Command       string      `json:"command"`
	Version       string      `json:"version"`
	LockOwner     Owner       `json:"lock_owner,omitempty"` // whose lock took part
	LockPath      string      `json:"lock_path,omitempty"`
	RollbackOf    string      `json:"rollback_of,omitempty"`
	RolledBack    string      `json:"rolled_back,omitempty"` // id of the apply that undid this one
	Interrupted   bool        `json:"interrupted,omitempty"` // its end was written by a later apply
	Partial       bool        `json:"partial,omitempty"`     // something of its plan was not done
	Changes       []EntryStep `json:"changes"`
	Resources     int         `json:"-"` // how many Changes the apply has, be they read or not
}

// EntryStep is one change of an apply: what was there and what came of it.
type EntryStep struct {
	Address Address            `json:"address"`
	Action  Action             `json:"action"`
	Format  string             `json:"format,omitempty"`
	Aliases []Address          `json:"aliases,omitempty"` // other addresses of the same place
	Path    fsys.LogicalPath   `json:"path,omitempty"`    // of path kinds
	Folder  fsys.LogicalPath   `json:"folder,omitempty"`  // in which the target lies, where that is known
	Before  Fingerprint        `json:"before"`            // token of the whole target; "" where nothing was
	Mode    fs.FileMode        `json:"mode,omitempty"`
	After   Fingerprint        `json:"after"` // "" where nothing is, or while it is not done
	Writes  bool               `json:"writes"`
	Keys    []LeafKey          `json:"keys"` // of the leaves that were written
	Had     []ownedRecord      `json:"had,omitempty"`
	Got     []ownedRecord      `json:"got,omitempty"`
	Dirs    []fsys.LogicalPath `json:"dirs,omitempty"`
}

// ownedRecord is a record that says itself whose it is.
type ownedRecord struct {
	Owner  Owner  `json:"owner"`
	Record Record `json:"record"`
}

// journal is an apply on its way. The head and every step's intent are on disk
// before the first change; a step's end is noted after it, without a sync: a
// note that is lost costs one more look at the target.
type journal struct {
	entry Entry
	done  map[Address]EntryStep

	mu sync.Mutex
	w  fsys.FS
	at fsys.LogicalPath
}

// journalLine is one line of the file: the head, a step of it that is begun anew
// from what is there by then, or the end of a step.
type journalLine struct {
	Head  *Entry     `json:"head,omitempty"`
	Again *EntryStep `json:"again,omitempty"`
	Done  *EntryStep `json:"done,omitempty"`
}

// readJournal returns nil where there is none.
func readJournal(r fsys.Reader, p fsys.LogicalPath) (*journal, error) {
	b, err := r.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	j := &journal{done: map[Address]EntryStep{}}
	for n, line := range bytes.SplitAfter(b, []byte("\n")) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // torn: never counted
		}
		var x journalLine
		if err := json.Unmarshal(line, &x); err != nil {
			if n == 0 {
				return nil, fmt.Errorf("read journal %s: line 1: %v; move the file away to go on, and see aisync doctor", p, err)
			}
			continue
		}
		switch {
		case x.Head != nil:
			if x.Head.FormatVersion > JournalVersion {
				return nil, fmt.Errorf("journal %s: format_version %d, and this aisync knows up to %d: %w; upgrade aisync", p, x.Head.FormatVersion, JournalVersion, state.ErrNewer)
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
		return nil, nil // killed before the head was whole: nothing was changed
	}
	return j, nil
}

// beginJournal puts the head on disk. A journal that lies there and says
// something must have gone through Recover before.
func beginJournal(w fsys.FS, p fsys.LogicalPath, e Entry) (*journal, error) {
	line, err := json.Marshal(journalLine{Head: &e})
	if err != nil {
		return nil, fmt.Errorf("write journal: %w", err)
	}
	if _, err := w.MkdirAll(p.Dir(), 0o700); err != nil {
		return nil, fmt.Errorf("write journal: %w", err)
	}
	expect := fsys.Expect{Absent: true}
	if j, err := readJournal(w, p); err != nil || j != nil {
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
	return &journal{entry: e, done: map[Address]EntryStep{}, w: w, at: p}, nil
}

// revise replaces step i, on disk too.
func (j *journal) revise(i int, step EntryStep) error {
	line, err := json.Marshal(journalLine{Again: &step})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entry.Changes[i] = step
	return j.w.Append(j.at, append(line, '\n'), 0o600)
}

// finish notes the end of one step.
func (j *journal) finish(step EntryStep) (err error) {
	defer fsys.Caught(&err)
	line, err := json.Marshal(journalLine{Done: &step})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done[step.Address] = step
	return j.w.Note(j.at, append(line, '\n'))
}

// did reports whether step, as it was settled, came to its end.
func (j *journal) did(step EntryStep) bool {
	_, noted := j.done[step.Address]
	return noted || step.Writes && step.After != step.Before
}

// end takes the journal away: everything it was for is written.
func (j *journal) end(w fsys.FS, p fsys.LogicalPath) error {
	b, err := w.ReadFile(p)
	if err != nil {
		return err
	}
	return w.Remove(p, fsys.Expect{Digest: fsys.Digest(b)}, nil)
}

// entry is the head of the journal: what is about to be done.
func (a *applying) entry(ctx context.Context) Entry {
	e := Entry{
		FormatVersion: JournalVersion, ID: a.options.ID, Time: a.w.Clock().UTC(), Command: a.options.Command,
		Version: a.options.Version, RollbackOf: a.options.RollbackOf, Partial: a.partial, LockOwner: a.store.lockOwner, LockPath: a.store.lockFile(),
	}
	missing := map[fsys.LogicalPath][]fsys.LogicalPath{}
	for _, c := range a.changes {
		s := a.intent(ctx, c)
		if c.Writes() && s.Folder != "" {
			s.Dirs = a.missing(s.Folder, missing)
		}
		if a.store.inherited && c.Action == Accept && c.Target.Resource.Local && c.ofProject() && s.Path != "" {
			s.Dirs = parents(s.Path)
		}
		e.Changes = append(e.Changes, s)
	}
	return e
}

// intent is the step of c, with what its provider knows before it writes.
func (a *applying) intent(ctx context.Context, c Change) EntryStep {
	s := a.step(c)
	if f, ok := a.engine.provider(s.Address.Kind()).(Foreteller); ok && c.Writes() {
		out := f.Foretell(ctx, a.w.ReadEnv, c)
		for i := range s.Got {
			s.Got[i].Record = out.into(s.Got[i].Record)
		}
	}
	return s
}

// missing returns dir and the folders above it that are not there, top first.
func (a *applying) missing(dir fsys.LogicalPath, known map[fsys.LogicalPath][]fsys.LogicalPath) []fsys.LogicalPath {
	if dir == "." || dir == "/" {
		return nil
	}
	if dirs, ok := known[dir]; ok {
		return dirs
	}
	var dirs []fsys.LogicalPath
	if _, err := a.w.FS.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		dirs = append(slices.Clone(a.missing(dir.Dir(), known)), dir)
	}
	known[dir] = dirs
	return dirs
}

func (a *applying) step(c Change) EntryStep {
	addr := c.Target.Resource.Address
	s := EntryStep{Address: addr, Aliases: c.Target.Aliases, Action: c.Action, Format: c.Target.Resource.Format, Before: c.Before.Token, After: c.Before.Token, Writes: c.Writes()}
	if isPathKind(addr.Kind()) {
		s.Path = addr.Path(a.w.Home)
		s.Folder = s.Path.Dir()
		if info, err := a.w.FS.Lstat(s.Path); err == nil {
			s.Mode = info.Mode().Perm()
		}
	}
	if p, ok := a.engine.provider(addr.Kind()).(Placed); ok {
		s.Folder = p.Folder(c.Target, a.w.Home)
	}
	for _, l := range c.Leaves {
		if l.Writes() {
			s.Keys = append(s.Keys, l.Key)
		}
	}
	for _, rec := range a.store.of(c.Target) {
		if slices.Contains(c.Owners, rec.Owner) {
			s.Had = append(s.Had, ownedRecord{rec.Owner, rec})
		}
	}
	for _, rec := range c.Next {
		s.Got = append(s.Got, ownedRecord{rec.Owner, rec})
	}
	return s
}
