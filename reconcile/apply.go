package reconcile

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// ErrUndecided says that a plan holds conflicts and nobody chose.
var ErrUndecided = errors.New("conflicts that nobody decided")

// ApplyOptions are what a person or the program says about one apply.
type ApplyOptions struct {
	ID        string // from NewApplyID; also the tag of the file system's temp names
	KeepGoing bool   // leave what is undecided or failed, and do the rest
	Command   string
	Version   string
	Events    func(Event) // safe for concurrent use; may be nil
	// Ignored says which of these paths of the project git does not carry.
	Ignored    func(ctx context.Context, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool
	RollbackOf string // the entry that this apply undoes; its plan comes from RollbackPlan
}

// Event is something that happened during an apply.
type Event struct {
	Kind        string // "start", "progress", "done", "failed", "skipped"
	Address     Address
	Action      Action
	Done, Total int64 // bytes, of "progress"
	Err         error // of "failed" and "skipped"
}

// NewApplyID returns an id that sorts by time.
func NewApplyID(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(b[:])
}

// Apply makes p true. The caller holds the lock of the state and has called
// Recover. It may be killed at any point: what is managed then has its old or
// its new bytes, and the next Recover finishes the bookkeeping. Undecided
// conflicts make it return ErrUndecided before anything is touched, unless
// KeepGoing. When the context ends, what runs is finished or undone, what was
// done is recorded, and the context's error is returned.
func (e *Engine) Apply(ctx context.Context, w WriteEnv, s *Store, p *Plan, o ApplyOptions) (Result, error) {
	if !o.KeepGoing && len(p.Conflicts)+len(p.Undecided()) > 0 {
		return Result{}, ErrUndecided
	}
	a := &applying{engine: e, w: w, store: s, options: o, waits: nil}
	for _, c := range p.Changes {
		if c.Writes() || c.Action == Accept || c.Action == Release || c.Action == Clash && c.recordsOnly() {
			a.changes = append(a.changes, c)
		}
		if c.Action == Clash {
			a.result.Skipped = append(a.result.Skipped, Problem{Address: c.Target.Resource.Address, Err: ErrUndecided})
		}
	}
	for _, c := range p.Conflicts {
		a.result.Skipped = append(a.result.Skipped, Problem{Address: c.Address, Err: errors.New(c.Reason), Hint: c.Hint})
	}
	if problems := e.preflight(ctx, w.ReadEnv, a.changes); len(problems) > 0 {
		a.result.Failed = problems
		return a.result, fmt.Errorf("nothing was changed: %w", problems[0].Err)
	}
	return a.run(ctx)
}

// recordsOnly reports whether c, though undecided, has something to record.
func (c Change) recordsOnly() bool {
	return slices.ContainsFunc(c.Leaves, func(l LeafChange) bool { return l.Action == Accept || l.Action == Release })
}

// preflight collects what would stop the changes before the first is made.
func (e *Engine) preflight(ctx context.Context, r ReadEnv, changes []Change) []Problem {
	byKind := map[string][]Change{}
	for _, c := range changes {
		if c.Writes() {
			k := c.Target.Resource.Address.Kind()
			byKind[k] = append(byKind[k], c)
		}
	}
	var problems []Problem
	for _, p := range e.Providers {
		if pre, ok := p.(Preflighter); ok && len(byKind[p.Kind()]) > 0 {
			problems = append(problems, pre.Preflight(ctx, r, byKind[p.Kind()])...)
		}
	}
	return problems
}

// applying is one apply on its way.
type applying struct {
	engine  *Engine
	w       WriteEnv
	store   *Store
	options ApplyOptions
	changes []Change
	waits   [][]int
	journal *journal

	mu       sync.Mutex
	result   Result
	contents map[Owner]map[string][]byte
}

func (a *applying) run(ctx context.Context) (Result, error) {
	if len(a.changes) == 0 {
		return a.result, a.store.saveLock(a.w.FS)
	}
	var err error
	if a.waits, err = order(a.changes); err != nil {
		return a.result, err
	}
	a.w.Keep = func(old fsys.LogicalPath, token Fingerprint) error {
		return a.store.dir.KeepBackup(a.w.FS, old, contentDigest(token))
	}
	a.w.ReadEnv.Backup, a.w.ReadEnv.Contents = a.store.Backup, a.store.Contents
	if a.journal, err = beginJournal(a.w.FS, a.store.dir.Journal(), a.entry(ctx)); err != nil {
		return a.result, err
	}
	a.result.ID = a.options.ID
	a.store.On("") // the index is made before several look at it
	a.contents = map[Owner]map[string][]byte{}
	a.all(ctx)
	if err := a.commit(context.WithoutCancel(ctx)); err != nil {
		return a.result, fmt.Errorf("%w; what was done is done, and the next aisync apply finishes the records", err)
	}
	slices.Sort(a.result.Done)
	return a.result, ctx.Err()
}

// entry is the head of the journal: what is about to be done.
func (a *applying) entry(ctx context.Context) Entry {
	e := Entry{
		FormatVersion: JournalVersion, ID: a.options.ID, Time: a.w.Clock().UTC(), Command: a.options.Command,
		Version: a.options.Version, RollbackOf: a.options.RollbackOf, LockOwner: a.store.lockOwner, LockPath: a.store.lockFile(),
	}
	missing := map[fsys.LogicalPath][]fsys.LogicalPath{}
	for _, c := range a.changes {
		s := a.step(c)
		if c.Writes() && s.Folder != "" {
			s.Dirs = a.missing(s.Folder, missing)
		}
		if f, ok := a.engine.provider(s.Address.Kind()).(Foreteller); ok && c.Writes() {
			out := f.Foretell(ctx, a.w.ReadEnv, c)
			for i := range s.Got {
				s.Got[i].Record = out.into(s.Got[i].Record)
			}
		}
		e.Changes = append(e.Changes, s)
	}
	return e
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
	s := EntryStep{Address: addr, Action: c.Action, Format: c.Target.Resource.Format, Before: c.Before.Token, After: c.Before.Token, Writes: c.Writes()}
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
	for _, rec := range a.store.On(addr) {
		if slices.Contains(c.Owners, rec.Owner) {
			s.Had = append(s.Had, ownedRecord{rec.Owner, rec})
		}
	}
	for _, rec := range c.Next {
		s.Got = append(s.Got, ownedRecord{rec.Owner, rec})
	}
	return s
}

// all runs every change, what it waits for first, a bounded number at a time.
func (a *applying) all(ctx context.Context) {
	parallel := a.engine.Parallel
	if parallel <= 0 {
		parallel = 8
	}
	ended := make([]chan struct{}, len(a.changes))
	ok := make([]bool, len(a.changes))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	slots := make(chan struct{}, parallel)
	var group sync.WaitGroup
	stop := false
	for i := range a.changes {
		group.Go(func() {
			defer close(ended[i])
			for _, j := range a.waits[i] {
				<-ended[j]
				if !ok[j] {
					a.skip(i, fmt.Errorf("it waits for %s, which was not done", a.changes[j].Target.Resource.Address))
					return
				}
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			a.mu.Lock()
			stopped := stop
			a.mu.Unlock()
			switch {
			case ctx.Err() != nil:
				a.skip(i, context.Cause(ctx))
			case stopped:
				a.skip(i, errors.New("an earlier change failed"))
			default:
				ok[i] = a.one(ctx, i)
				if !ok[i] && !a.options.KeepGoing {
					a.mu.Lock()
					stop = true
					a.mu.Unlock()
				}
			}
		})
	}
	group.Wait()
}

// one makes one change and notes its end.
func (a *applying) one(ctx context.Context, i int) bool {
	c := a.changes[i]
	addr := c.Target.Resource.Address
	a.event(Event{Kind: "start", Address: addr, Action: c.Action})
	var out Outcome
	var err error
	p := a.engine.provider(addr.Kind())
	if c.Writes() {
		out, err = p.Apply(ctx, c, a.w)
	} else {
		out.Token = c.Before.Token
		if confirmer, ok := p.(Confirmer); ok && c.Action == Accept {
			out, err = confirmer.Confirm(ctx, a.w.ReadEnv, c)
		}
	}
	step := a.journal.entry.Changes[i]
	if err == nil {
		step.After, step.Dirs = out.Token, out.Dirs
		step.Got = step.Got[:0:0]
		for _, rec := range c.Next {
			step.Got = append(step.Got, ownedRecord{rec.Owner, out.into(rec)})
		}
		err = a.journal.finish(step)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.result.Failed = append(a.result.Failed, Problem{Address: addr, Err: err})
		a.event(Event{Kind: "failed", Address: addr, Action: c.Action, Err: err})
		return false
	}
	a.result.Done = append(a.result.Done, addr)
	if out.Content != nil && len(c.Next) > 0 {
		o := c.Next[0].Owner
		if a.contents[o] == nil {
			a.contents[o] = map[string][]byte{}
		}
		a.contents[o][fsys.Digest(out.Content)] = out.Content
	}
	a.event(Event{Kind: "done", Address: addr, Action: c.Action})
	return true
}

// into adds to a record what only the provider knows.
func (out Outcome) into(rec Record) Record {
	if out.Private != nil {
		rec.Private = out.Private
	}
	rec.Leaves = slices.Clone(rec.Leaves)
	for i := range rec.Leaves {
		l := &rec.Leaves[i]
		if private, ok := out.LeafPrivate[l.Key]; ok {
			l.Private = private
		}
		if live, ok := out.LeafLive[l.Key]; ok && live != l.Live {
			l.Want, l.Live = l.Wanted(), live
		}
	}
	return rec
}

func (a *applying) skip(i int, why error) {
	addr := a.changes[i].Target.Resource.Address
	a.mu.Lock()
	defer a.mu.Unlock()
	a.result.Skipped = append(a.result.Skipped, Problem{Address: addr, Err: why})
	a.event(Event{Kind: "skipped", Address: addr, Err: why})
}

func (a *applying) event(ev Event) {
	if a.options.Events != nil {
		a.options.Events(ev)
	}
}

// commit makes what was done durable and writes it down; the journal goes last.
func (a *applying) commit(ctx context.Context) error {
	entry, _ := a.engine.settle(ctx, a.w.ReadEnv, a.store, a.journal)
	a.markIgnored(ctx, entry)
	a.sweepDirs(entry)
	if err := a.w.FS.Flush(); err != nil {
		return fmt.Errorf("sync folders: %w", err)
	}
	return a.store.finish(a.w.FS, entry, a.contents, a.journal)
}

// markIgnored makes targets local that git does not carry.
func (a *applying) markIgnored(ctx context.Context, entry Entry) {
	if a.options.Ignored == nil || a.store.lock == nil {
		return
	}
	var paths []fsys.LogicalPath
	for _, s := range entry.Changes {
		if s.Path != "" && s.Path.Project() {
			paths = append(paths, s.Path)
		}
	}
	if len(paths) == 0 {
		return
	}
	ignored := a.options.Ignored(ctx, paths)
	for _, s := range entry.Changes {
		for _, got := range s.Got {
			if ignored[s.Path] && !got.Record.Local {
				rec := got.Record
				rec.Local, rec.Owner = true, got.Owner
				a.store.set(got.Owner, rec.Address, &rec)
			}
		}
	}
}

// sweepDirs removes folders that aisync made and that the changes left empty.
func (a *applying) sweepDirs(entry Entry) {
	gone := map[fsys.LogicalPath]bool{}
	for _, s := range entry.Changes {
		if s.Folder != "" && s.Before != "" && s.After == "" {
			for d := s.Folder; d != "." && d != "/" && !gone[d]; d = d.Dir() {
				gone[d] = true
			}
		}
	}
	if len(gone) == 0 {
		return
	}
	for o, f := range a.store.owners {
		dirs := slices.Clone(f.Dirs)
		slices.SortFunc(dirs, func(x, y fsys.LogicalPath) int { return len(y) - len(x) })
		for _, d := range dirs {
			if d.Project() && o != a.store.lockOwner {
				continue
			}
			if !gone[d] {
				continue
			}
			if err := a.w.FS.Rmdir(d); err == nil || errors.Is(err, fs.ErrNotExist) {
				f.Dirs = slices.DeleteFunc(f.Dirs, func(x fsys.LogicalPath) bool { return x == d })
			}
		}
	}
}
