package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// world is everything that a command which plans works with, loaded.
type View struct {
	*Machine
	services serviceManager
	Scope    scope
	Owners   []reconcile.Owner

	Spec    *spec.Spec
	Catalog catalog.Index

	HostLock, ProjectLock *lockFile
	Store                 *reconcile.Store
	Engine                *reconcile.Engine
	seal                  *sealer
	Reader                fsys.Reader
	Bundles               *bundle.Sources
	Declared              adapter.Decls // what the specs ask for
	judged                judged        // see effectsOf
	hooksShared           bool          // git runs the project's hooks by the chain of another work tree
	repository            *repository   // see repo
	repoOnce              sync.Once

	// Of commands that write:
	leftOut []error   // what was asked for and cannot be had now
	bar     *progress // while changes are made
	fetch   fetchFlags
	pulled  []string // models that fetch.source is for

	headerless bool // a source of headers let us wait in vain: the others are not asked
	fs         fsys.FS
	applyID    string
	tookBack   string // the apply that an interrupted rollback had taken back, as recover found
	held       *state.Held
}

// setup loads the world of a command that only looks: no part of it can write
// or dial.
func (a *app) setup(ctx context.Context, s scope) (*View, error) {
	w, err := a.lookAround(ctx, s)
	if err != nil {
		return nil, err
	}
	return w, w.declare(ctx, nil)
}

// lookAround is setup without what the specs ask for.
func (a *app) lookAround(ctx context.Context, s scope) (*View, error) {
	w, err := a.locate(s)
	if err != nil {
		return nil, err
	}
	a.sayNewRoot(w.Places)
	if err := w.onlyLook(); err != nil {
		return nil, err
	}
	return w, w.load(ctx)
}

// onlyLook gives w a file system that cannot write.
func (w *View) onlyLook() (err error) {
	w.Reader, err = w.Places.Reader("none")
	w.seal.reader = w.Reader
	return err
}

// setupHeld takes the lock of the state, finishes what an earlier apply left
// unfinished, pins what is not pinned where that is allowed, and loads
// everything. The caller releases it.
func (a *app) setupHeld(ctx context.Context, ask asked, f applyFlags, command string) (*View, error) {
	w, err := a.hold(ctx, ask.scope, f, command)
	if err != nil {
		return nil, err
	}
	w.fetch, w.pulled = ask.fetch, ask.models
	if err := w.ready(ctx, ask); err != nil {
		w.Release()
		return nil, err
	}
	return w, nil
}

// hold is the first half of setupHeld: everything is loaded but the spec.
func (a *app) hold(ctx context.Context, s scope, f applyFlags, command string) (*View, error) {
	w, err := a.locate(s)
	if err != nil {
		return nil, err
	}
	if err := a.makeRoot(w.Places, command); err != nil {
		return nil, err
	}
	w.applyID = reconcile.NewApplyID(time.Now())
	disk, held, err := a.lockState(ctx, w.Places, w.applyID, f.lockTimeout, command)
	if err != nil {
		return nil, w.ofState(err)
	}
	w.fs, w.Reader, w.held = disk, disk, held
	w.seal.disk, w.seal.reader = disk, disk
	a.env[state.PIDVariable] = fmt.Sprint(os.Getpid())
	return w, nil
}

// lockState takes the lock of the state, and returns the file system to write
// with; tag is part of the names of its temp files.
func (a *app) lockState(ctx context.Context, p place.Places, tag string, timeout time.Duration, command string) (*fsys.Disk, *state.Held, error) {
	disk, err := fsys.New(p.FSOptions(tag))
	if err != nil {
		return nil, nil, err
	}
	host, _ := os.Hostname() // only for the message to who waits
	held, err := state.Open(disk, p.State).Lock(ctx, disk, timeout, state.Holder{PID: os.Getpid(), Host: host, Since: time.Now(), Command: command})
	return disk, held, err
}

// holdRecords is setupHeld for what goes by the records and the locks alone,
// be the specs as broken as they may.
func (a *app) holdRecords(ctx context.Context, s scope, f applyFlags, command string) (*View, error) {
	w, err := a.hold(ctx, s, f, command)
	if err != nil {
		return nil, err
	}
	if err = w.loadRecords(ctx); err == nil {
		err = w.recover(ctx)
	}
	if err != nil {
		w.Release()
		return nil, err
	}
	return w, nil
}

func (w *View) ready(ctx context.Context, ask asked) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	if err := w.recover(ctx); err != nil {
		return err
	}
	return w.declare(ctx, w.newPinner(ask))
}

// release gives the lock back.
func (w *View) Release() {
	if w.held != nil {
		_ = w.held.Release() // the end of the process does it as well
	}
}

// recover finishes an interrupted apply and says what that meant. What a
// command left behind that was killed before it began is taken away.
func (w *View) recover(ctx context.Context) error {
	if err := w.HostLock.sweep(w.Places.FSOptions(w.applyID)); err != nil {
		return err
	}
	if !w.Store.Unfinished() {
		return w.Store.Sweep(w.fs)
	}
	of := w.Store.TakingBack()
	lines, err := w.Engine.Recover(ctx, w.WriteEnv(nil), w.Store)
	for _, l := range lines {
		w.Notify("aisync: %s", safe(l))
	}
	if err == nil && of != "" && w.Store.TakenBack(of) {
		w.tookBack = of
	}
	return err
}

// ofState says what to do where aisync's own folder cannot be used.
func (w *View) ofState(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return advise(err, fmt.Sprintf("give %s and what is in it to the user who runs aisync (id %d)", w.Places.Physical(w.Places.State), os.Geteuid()))
}

// locate finds places and owners and makes the engine.
func (a *app) locate(s scope) (*View, error) {
	find := a.places
	if s == scopeHost {
		find = a.hostPlaces
	}
	p, err := find()
	if err != nil {
		return nil, err
	}
	owners, err := s.owners(p)
	if err != nil {
		return nil, err
	}
	m := a.machine(p)
	k, err := m.serviceManager()
	if err != nil {
		return nil, err
	}
	seal := &sealer{state: p.State}
	engine := &reconcile.Engine{Providers: providers(p, k, a.g.offline, seal.Seal)}
	return &View{Machine: m, services: k, Scope: s, Owners: owners, Engine: engine, seal: seal}, nil
}

// load reads spec, facts, locks and records side by side.
func (w *View) load(ctx context.Context) error {
	if w.Has(reconcile.HostOwner) {
		ahead(w.Facts)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(guarded(func() (err error) {
		o := schema.Options{Facts: w.Facts}
		if !w.Has(reconcile.HostOwner) {
			o.NoHost = w.withoutHost
		}
		w.Spec, err = w.LoadSpec(ctx, o)
		return err
	}))
	g.Go(guarded(func() error { return w.loadRecords(ctx) }))
	if err := g.Wait(); err != nil {
		return err
	}
	w.Catalog = catalog.With(w.Spec.Catalog)
	w.Facts = w.withPrograms(w.Facts, w.Spec.Catalog.Runtimes)
	return nil
}

// loadRecords reads what was made, and the locks: all that is needed to take
// it back, be the spec as broken as it may.
func (w *View) loadRecords(ctx context.Context) error {
	g, _ := errgroup.WithContext(ctx)
	g.Go(guarded(func() (err error) {
		w.HostLock, err = readLockFile(filepath.Join(w.Places.Config, lockName))
		return err
	}))
	g.Go(guarded(func() (err error) {
		if w.Places.Project != "" {
			w.ProjectLock, err = readLockFile(filepath.Join(w.Places.Project, lockName))
		}
		return err
	}))
	g.Go(guarded(func() (err error) {
		w.Store, err = reconcile.OpenStore(w.Reader, w.Places.State)
		return w.ofState(err)
	}))
	if err := g.Wait(); err != nil {
		return err
	}
	if w.ProjectLock != nil {
		var known *reconcile.Lock
		if w.ProjectLock.found {
			known = w.ProjectLock.lock
		}
		w.Store.UseLock(reconcile.ProjectOwner(w.Places.Project), lockName, known)
		w.ProjectLock.lock = w.Store.Lock()
	}
	return nil
}

// withoutHost notes that a project is looked at without its host, which it
// does not need: what it asks for depends on no host.
func (w *View) withoutHost(why schema.Problem) {
	w.Declared.Notes = append(w.Declared.Notes, reconcile.Note{Text: why.Message + "; the project goes without a host"})
}

// read is all that may be handed to something that only looks.
func (w *View) ReadEnv() reconcile.ReadEnv {
	return reconcile.ReadEnv{
		FS: w.Reader, Home: w.Places.Home, Run: w.runner(), Clock: time.Now,
		Contents: w.Store.Contents, Backup: w.Store.Backup,
		Committed: func(p fsys.LogicalPath) ([]byte, bool) { return w.Repository(context.Background()).Committed(p) },
		Head:      func(p fsys.LogicalPath) ([]byte, bool) { return w.Repository(context.Background()).Head(p) },
		CRLF:      func(p fsys.LogicalPath) bool { return w.Repository(context.Background()).CRLF(p) },
	}
}

// write is what an apply is handed. events may be nil.
func (w *View) WriteEnv(events func(reconcile.Event)) reconcile.WriteEnv {
	env := reconcile.WriteEnv{ReadEnv: w.ReadEnv(), FS: w.fs, Fetch: w.fetcher()}
	env.Reach = w.reacher()
	env.Progress = func(a reconcile.Address, done, total int64) {
		if events != nil {
			events(reconcile.Event{Kind: "progress", Address: a, Done: done, Total: total})
		}
	}
	return env
}

// ignored tells which paths of the project git does not carry.
func (w *View) Ignored(ctx context.Context, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool {
	return w.runner().ignored(ctx, w.Places.Project, paths)
}
