package stack

import (
	"context"
	"fmt"
	"os"
	"time"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
)

// Session is a View that can write: it holds the lock of the state, until the
// caller calls Release.
type Session struct {
	*View
	FS      fsys.FS
	ApplyID string // of what this session applies; part of the names of its temp files

	// RolledBack is the apply that an interrupted rollback had undone, which
	// Recover finished; "" for none.
	RolledBack string

	release func()
}

// LockRequest says how a lock is taken.
type LockRequest struct {
	Command string        // the words that another process sees while it waits
	Timeout time.Duration // how long to wait for a process that holds it
}

// Hold takes the lock of the state of m, and loads nothing.
func Hold(ctx context.Context, m *Machine, s Scope, l LockRequest) (*Session, error) {
	id := reconcile.NewApplyID(time.Now())
	disk, err := fsys.New(m.Places.FSOptions(id))
	if err != nil {
		return nil, err
	}
	v, err := newView(m, s, disk, newKeepingHasher(disk, m.Places.State))
	if err != nil {
		return nil, err
	}
	held, err := m.lockState(ctx, disk, l)
	if err != nil {
		return nil, v.stateError(err)
	}
	m.Env[state.PIDVariable] = fmt.Sprint(os.Getpid())
	release := func() { _ = held.Release() } // the end of the process does it as well
	return &Session{View: v, FS: disk, ApplyID: id, release: release}, nil
}

// HoldRecords takes the lock, loads locks and records, and finishes an interrupted
// apply. The specs may be broken: View.Spec is empty.
func HoldRecords(ctx context.Context, m *Machine, sc Scope, l LockRequest) (*Session, error) {
	return holdAnd(ctx, m, sc, l, (*View).loadRecords)
}

// HoldLoaded takes the lock, loads specs, locks and records, and finishes an
// interrupted apply. It declares nothing.
func HoldLoaded(ctx context.Context, m *Machine, sc Scope, l LockRequest) (*Session, error) {
	return holdAnd(ctx, m, sc, l, (*View).Load)
}

func holdAnd(ctx context.Context, m *Machine, sc Scope, l LockRequest, load func(*View, context.Context) error) (*Session, error) {
	s, err := Hold(ctx, m, sc, l)
	if err != nil {
		return nil, err
	}
	if err = s.FetchBases(pin.Update{}); err == nil {
		err = load(s.View, ctx)
	}
	if err == nil {
		err = s.Recover(ctx)
	}
	if err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// lockState takes the lock of the state on disk.
func (m *Machine) lockState(ctx context.Context, disk *fsys.Disk, l LockRequest) (*state.Held, error) {
	host, _ := os.Hostname() // only for the message to a process that waits
	return state.Open(disk, m.Places.State).Lock(ctx, disk, l.Timeout, state.Holder{PID: os.Getpid(), Host: host, Since: time.Now(), Command: l.Command})
}

// Release gives the lock back.
func (s *Session) Release() { s.release() }

// Recover finishes an interrupted apply and notifies of what it did. It removes
// what a command left that was killed before its apply began.
func (s *Session) Recover(ctx context.Context) error {
	if err := s.HostLock.Sweep(s.Places.FSOptions(s.ApplyID)); err != nil {
		return err
	}
	if !s.Store.Unfinished() {
		return s.Store.Sweep(s.FS)
	}
	of := s.Store.TakingBack()
	lines, err := s.Engine.Recover(ctx, s.WriteEnv(nil), s.Store)
	for _, l := range lines {
		s.Notify("aisync: %s", termtext.Safe(l))
	}
	if err == nil && of != "" && s.Store.TakenBack(of) {
		s.RolledBack = of
	}
	return err
}

// WriteEnv returns what an apply works with. events may be nil.
func (s *Session) WriteEnv(events func(reconcile.Event)) reconcile.WriteEnv {
	network := s.Network()
	env := reconcile.WriteEnv{ReadEnv: s.ReadEnv(), FS: s.FS, Fetch: network.Fetcher()}
	env.Reach = network.Reacher()
	env.Progress = func(a reconcile.Address, done, total int64) {
		if events != nil {
			events(reconcile.Event{Kind: "progress", Address: a, Done: done, Total: total})
		}
	}
	return env
}

// GoneProject returns a session for owner, a project whose folder is gone: the
// folder empty stands in for it. The session takes no lock: the caller holds it.
func GoneProject(m *Machine, owner reconcile.Owner, empty string) (*Session, error) {
	m.Places.Project = empty
	id := reconcile.NewApplyID(time.Now())
	disk, err := fsys.New(m.Places.FSOptions(id))
	if err != nil {
		return nil, err
	}
	v, err := newView(m, ScopeHost, disk, NewSecretHasher(disk, m.Places.State))
	if err != nil {
		return nil, err
	}
	v.Owners = []reconcile.Owner{owner}
	if v.Store, err = reconcile.OpenStore(disk, m.Places.State); err != nil {
		return nil, err
	}
	v.Store.UseLock(owner, LockName, nil)
	return &Session{View: v, FS: disk, ApplyID: id, release: func() {}}, nil
}

// DryRun returns a session of v for a rehearsal: it holds no lock, and the caller
// writes nothing by it.
func DryRun(v *View) (*Session, error) {
	disk, err := fsys.New(v.Places.FSOptions("none"))
	if err != nil {
		return nil, err
	}
	return &Session{View: v, FS: disk, release: func() {}}, nil
}

// Agree records that the person agreed to list, outside of an apply.
func (m *Machine) Agree(ctx context.Context, command string, o reconcile.Owner, list []effects.Effect) error {
	var digests []string
	for _, e := range list {
		digests = append(digests, e.Digest)
	}
	return m.Answer(ctx, LockRequest{Command: command}, func(s *reconcile.Store, w fsys.FS) error { return s.Agree(w, o, digests) })
}

// Answer changes what the person agreed to, under the lock of the state.
func (m *Machine) Answer(ctx context.Context, l LockRequest, change func(*reconcile.Store, fsys.FS) error) error {
	disk, err := fsys.New(m.Places.FSOptions(reconcile.NewApplyID(time.Now())))
	if err != nil {
		return err
	}
	held, err := m.lockState(ctx, disk, l)
	if err != nil {
		return err
	}
	defer held.Release()
	store, err := reconcile.OpenStore(disk, m.Places.State)
	if err != nil {
		return err
	}
	return change(store, disk)
}
