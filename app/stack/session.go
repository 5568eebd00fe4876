package stack

import (
	"context"
	"fmt"
	"os"
	"time"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
)

// Session is a View whose machine it may change: it holds the lock of the
// state. The caller releases it.
type Session struct {
	*View
	FS      fsys.FS
	ApplyID string // of what this session applies; part of the names of its temp files

	// TookBack is the apply that a rollback had taken back which was interrupted,
	// and which Recover finished; "" for none.
	TookBack string

	held *state.Held
}

// Holding says how a lock is taken.
type Holding struct {
	Command string        // the words that another process sees while it waits
	Timeout time.Duration // how long to wait for a process that holds it
}

// Hold takes the lock of the state of m. Nothing is loaded yet.
func Hold(ctx context.Context, m *Machine, s Scope, h Holding) (*Session, error) {
	v, err := newView(m, s)
	if err != nil {
		return nil, err
	}
	id := reconcile.NewApplyID(time.Now())
	disk, held, err := m.lockState(ctx, id, h)
	if err != nil {
		return nil, v.ofState(err)
	}
	v.Reader, v.seal.disk, v.seal.Reader = disk, disk, disk
	m.Env[state.PIDVariable] = fmt.Sprint(os.Getpid())
	return &Session{View: v, FS: disk, ApplyID: id, held: held}, nil
}

// HoldRecords is Hold for what goes by the records and the locks alone: the
// specs may be broken. An interrupted apply is finished.
func HoldRecords(ctx context.Context, m *Machine, sc Scope, h Holding) (*Session, error) {
	return holdAnd(ctx, m, sc, h, (*View).loadRecords)
}

// HoldLoaded is Hold with everything loaded but what the specs ask for, and an
// interrupted apply finished.
func HoldLoaded(ctx context.Context, m *Machine, sc Scope, h Holding) (*Session, error) {
	return holdAnd(ctx, m, sc, h, (*View).Load)
}

func holdAnd(ctx context.Context, m *Machine, sc Scope, h Holding, load func(*View, context.Context) error) (*Session, error) {
	s, err := Hold(ctx, m, sc, h)
	if err != nil {
		return nil, err
	}
	if err = load(s.View, ctx); err == nil {
		err = s.Recover(ctx)
	}
	if err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// lockState takes the lock of the state, and returns the file system to write
// with; tag is part of the names of its temp files.
func (m *Machine) lockState(ctx context.Context, tag string, h Holding) (*fsys.Disk, *state.Held, error) {
	disk, err := fsys.New(m.Places.FSOptions(tag))
	if err != nil {
		return nil, nil, err
	}
	host, _ := os.Hostname() // only for the message to a process that waits
	held, err := state.Open(disk, m.Places.State).Lock(ctx, disk, h.Timeout, state.Holder{PID: os.Getpid(), Host: host, Since: time.Now(), Command: h.Command})
	return disk, held, err
}

// Release gives the lock back.
func (s *Session) Release() {
	if s.held != nil {
		_ = s.held.Release() // the end of the process does it as well
	}
}

// Recover finishes an interrupted apply and tells what that meant. What a
// command left behind that was killed before it began is taken away.
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
		s.TookBack = of
	}
	return err
}

// WriteEnv is what an apply is handed. events may be nil.
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

// StandIn is a session for owner, a project whose folder is gone: empty stands
// in for it. It holds no lock: the caller does.
func StandIn(m *Machine, owner reconcile.Owner, empty string) (*Session, error) {
	m.Places.Project = empty
	v, err := newView(m, ScopeHost)
	if err != nil {
		return nil, err
	}
	v.Owners = []reconcile.Owner{owner}
	s := &Session{View: v, ApplyID: reconcile.NewApplyID(time.Now())}
	disk, err := fsys.New(m.Places.FSOptions(s.ApplyID))
	if err != nil {
		return nil, err
	}
	s.FS, v.Reader = disk, disk
	if v.Store, err = reconcile.OpenStore(disk, m.Places.State); err != nil {
		return nil, err
	}
	v.Store.UseLock(owner, LockName, nil)
	return s, nil
}

// Agree remembers a yes to list outside of an apply.
func (m *Machine) Agree(ctx context.Context, command string, o reconcile.Owner, list []effects.Effect) error {
	disk, held, err := m.lockState(ctx, reconcile.NewApplyID(time.Now()), Holding{Command: command})
	if err != nil {
		return err
	}
	defer held.Release()
	store, err := reconcile.OpenStore(disk, m.Places.State)
	if err != nil {
		return err
	}
	var digests []string
	for _, e := range list {
		digests = append(digests, e.Digest)
	}
	return store.Agree(disk, o, digests)
}
