package reconcile

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/journal"
	"aisync.dev/aisync/reconcile/record"
)

// ErrUndecided means that a plan has conflicts without a choice.
var ErrUndecided = errors.New("undecided conflicts")

// ApplyOptions configure one apply.
type ApplyOptions struct {
	ID        string // from NewApplyID; also the tag of the file system's temp names
	KeepGoing bool   // skip what is undecided or failed, and do the rest
	Command   string
	Version   string
	Events    func(Event) // safe for concurrent use; may be nil
	// Ignored returns the paths of the project that git does not carry.
	Ignored    func(ctx context.Context, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool
	RollbackOf string // the entry that this apply undoes; its plan comes from RollbackPlan
}

// Event reports progress of an apply.
type Event struct {
	Kind        string // "start", "progress", "done", "failed", "skipped"
	Address     Address
	Action      Action
	Done, Total int64 // bytes, for "progress"
	Err         error // for "failed" and "skipped"
}

// NewApplyID returns an id that sorts by time.
func NewApplyID(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(b[:])
}

// Apply makes p true. The caller holds the lock of the state and has called
// Recover. It may be killed at any point: every target then has its old or its
// new bytes, and the next Recover finishes the records. With undecided
// conflicts it returns ErrUndecided before any change, unless KeepGoing. When
// the context ends, running changes are finished or undone, finished ones are
// recorded, and the context's error is returned.
func (e *Engine) Apply(ctx context.Context, w WriteEnv, s *Store, p *Plan, o ApplyOptions) (Result, error) {
	if !o.KeepGoing && len(p.Conflicts)+len(p.Undecided()) > 0 {
		return Result{}, ErrUndecided
	}
	a := &applying{engine: e, w: w, store: s, options: o, torn: map[Address]bool{}}
	for _, c := range p.Changes {
		if c.Writes() || c.Action == Accept || c.Action == Release || c.Action == Clash && c.recordsOnly() {
			a.changes = append(a.changes, c)
		}
		a.partial = a.partial || c.Action == Clash || c.Action == Unclear
		switch {
		case c.Action == Clash && c.undecided():
			a.result.Skipped = append(a.result.Skipped, Problem{Address: c.Target.Resource.Address, Err: ErrUndecided})
		case c.Action == Clash:
			a.result.Skipped = append(a.result.Skipped, Problem{Address: c.Target.Resource.Address, Err: errors.New(c.Meaning())})
		}
	}
	for _, c := range p.Conflicts {
		a.result.Skipped = append(a.result.Skipped, Problem{Address: c.Address, Err: errors.New(c.Reason), Hint: c.Hint})
	}
	problems := e.preflight(ctx, w.ReadEnv, a.changes)
	a.result.Failed = problems
	if len(problems) > 0 && !o.KeepGoing {
		return a.result, fmt.Errorf("nothing was changed: %w", problems[0].Err)
	}
	a.unready(p, problems)
	return a.run(ctx)
}

// unready finds the changes that cannot be made: those with a problem, and
// those that depend on an undecided or problematic one.
func (a *applying) unready(p *Plan, problems []Problem) {
	a.bad = map[Address]bool{}
	for _, x := range problems {
		a.bad[x.Address] = true
	}
	for _, c := range p.Conflicts {
		a.bad[c.Address], a.bad[c.Other] = true, true
	}
	a.partial = a.partial || len(problems)+len(p.Conflicts) > 0
	a.changes = slices.DeleteFunc(a.changes, func(c Change) bool { return a.bad[c.Target.Resource.Address] })
	for _, c := range p.Changes {
		if slices.ContainsFunc(c.Leaves, func(l LeafChange) bool { return l.Action == Clash && l.Last == nil }) {
			a.bad[c.Target.Resource.Address] = true
		}
	}
}

// waitsForBad returns the dependency of c that will not be made.
func (a *applying) waitsForBad(c Change) (Address, bool) {
	on := c.Target.Resource.DependsOn
	i := slices.IndexFunc(on, func(d Address) bool { return a.bad[d] })
	if i < 0 || c.removes() {
		return "", false
	}
	return on[i], true
}

// recordsOnly reports whether c, though undecided, has something to record.
func (c Change) recordsOnly() bool {
	return slices.ContainsFunc(c.Leaves, func(l LeafChange) bool { return l.Action == Accept || l.Action == Release })
}

// preflight collects the problems of all changes before the first is made.
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

// applying is a running apply.
type applying struct {
	engine  *Engine
	w       WriteEnv
	store   *Store
	options ApplyOptions
	changes []Change
	waits   [][]int
	bad     map[Address]bool // changes not made: nothing that depends on them may be made
	partial bool             // a part of the plan was left out from the start
	torn    map[Address]bool // changes that failed, except because of another writer
	journal *journal.Journal

	mu       sync.Mutex
	result   Result
	contents map[Owner]map[string][]byte
}

func (a *applying) run(ctx context.Context) (Result, error) {
	if len(a.changes) == 0 {
		return a.result, a.nothing(ctx)
	}
	var err error
	if a.waits, err = order(a.changes); err != nil {
		return a.result, err
	}
	a.w.Keep = func(old fsys.LogicalPath, token Fingerprint) error {
		return a.store.dir.KeepBackup(a.w.FS, old, contentDigest(token))
	}
	a.w.ReadEnv.Backup, a.w.ReadEnv.Contents = a.store.Backup, a.store.Contents
	if a.journal, err = journal.Begin(a.w.FS, a.store.dir.Journal(), a.entry(ctx)); err != nil {
		return a.result, err
	}
	a.result.ID = a.options.ID
	a.store.On("") // build the index before several goroutines use it
	a.contents = map[Owner]map[string][]byte{}
	a.all(ctx)
	if err := a.commit(context.WithoutCancel(ctx)); err != nil {
		return a.result, fmt.Errorf("%w; what was done is done, and %s", err, advice.FinishRecords)
	}
	slices.Sort(a.result.Done)
	return a.result, ctx.Err()
}

// all runs every change after its dependencies, a bounded number at a time.
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
			if on, bad := a.waitsForBad(a.changes[i]); bad {
				a.skip(i, fmt.Errorf("it waits for %s, which was not done", on))
				return
			}
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
				var stale bool
				ok[i], stale = a.one(ctx, i)
				if !ok[i] && !stale && !a.options.KeepGoing {
					a.mu.Lock()
					stop = true
					a.mu.Unlock()
				}
			}
		})
	}
	group.Wait()
}

// one makes one change and records its end. stale means that it was not made
// because its target changed since the plan: nothing else is in doubt then.
func (a *applying) one(ctx context.Context, i int) (ok, stale bool) {
	addr := a.changes[i].Target.Resource.Address
	a.event(Event{Kind: "start", Address: addr, Action: a.changes[i].Action})
	out, err := a.attempt(ctx, i)
	c, step := a.changes[i], a.journal.Entry().Changes[i]
	if err == nil {
		step.After = out.Token
		if c.Writes() {
			step.Dirs = out.Dirs
		}
		step.Got = step.Got[:0:0]
		for _, rec := range c.Next {
			step.Got = append(step.Got, record.Owned{Owner: rec.Owner, Record: out.into(rec)})
		}
		err = a.journal.Finish(step)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		stale = isStale(err)
		if !stale {
			a.torn[addr] = true
		}
		a.result.Failed = append(a.result.Failed, Problem{Address: addr, Err: err})
		a.event(Event{Kind: "failed", Address: addr, Action: c.Action, Err: err})
		return false, stale
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
	return true, false
}

// do makes c true, or confirms it if there is only something to record.
func (a *applying) do(ctx context.Context, c Change) (out Outcome, err error) {
	defer fsys.Caught(&err)
	p := a.engine.provider(c.Target.Resource.Address.Kind())
	if c.Writes() {
		return p.Apply(ctx, c, a.w)
	}
	if confirmer, ok := p.(Confirmer); ok && c.Action == Accept {
		return confirmer.Confirm(ctx, a.w.ReadEnv, c)
	}
	return Outcome{Token: c.Before.Token}, nil
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
		l.Marked = l.Marked || out.LeafMarked[l.Key]
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
