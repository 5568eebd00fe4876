package stack

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
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// View is a machine and a project with all that a command which looks works
// with. No part of it can write or dial.
type View struct {
	*Machine
	Services ServiceManager
	Scope    Scope
	Owners   []reconcile.Owner

	Spec    *spec.Spec
	Catalog catalog.Index

	HostLock, ProjectLock *pin.File
	Store                 *reconcile.Store
	Engine                *reconcile.Engine
	Reader                fsys.Reader
	Bundles               *bundle.Sources
	Declared              adapter.Decls // what the specs ask for

	Transfer Transfer // how a Session fetches
	Pulled   []string // models that Transfer.Source is for
	LeftOut  []error  // what was asked for and cannot be had now

	seal        *Sealer
	judged      judged // see Effects
	hooksShared bool   // git runs the project's hooks by the chain of another work tree
	repository  *repository
	repoOnce    sync.Once
}

// Open loads everything, and declares what the specs ask for.
func Open(ctx context.Context, m *Machine, s Scope) (*View, error) {
	v, err := Look(ctx, m, s)
	if err != nil {
		return nil, err
	}
	return v, v.Declare(ctx, v.Resolver(pin.Look))
}

// Look loads everything but what the specs ask for.
func Look(ctx context.Context, m *Machine, s Scope) (*View, error) {
	return look(ctx, m, s, (*View).Load)
}

// LookAtRecords loads what was made and the locks; the specs may be broken.
func LookAtRecords(ctx context.Context, m *Machine, s Scope) (*View, error) {
	return look(ctx, m, s, (*View).loadRecords)
}

func look(ctx context.Context, m *Machine, s Scope, load func(*View, context.Context) error) (*View, error) {
	v, err := newView(m, s)
	if err != nil {
		return nil, err
	}
	if v.Reader, err = m.Places.Reader("none"); err != nil {
		return nil, err
	}
	v.seal.Reader = v.Reader
	return v, load(v, ctx)
}

// newView loads nothing yet, and cannot read.
func newView(m *Machine, s Scope) (*View, error) {
	owners, err := s.Owners(m.Places)
	if err != nil {
		return nil, err
	}
	k, err := m.serviceManager()
	if err != nil {
		return nil, err
	}
	seal := &Sealer{State: m.Places.State}
	engine := &reconcile.Engine{Providers: Providers(m.Places, k, m.Offline, seal.Seal)}
	return &View{Machine: m, Services: k, Scope: s, Owners: owners, Engine: engine, seal: seal}, nil
}

// ofState says what to do where aisync's own folder cannot be used.
func (w *View) ofState(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return advice.New(err, fmt.Sprintf("give %s and what is in it to the user who runs aisync (id %d)", w.Places.Physical(w.Places.State), os.Geteuid()))
}

// Parts is a View of which some parts may have failed to load, each for a
// reason of its own; its other parts are valid.
type Parts struct {
	*View
	SpecErr, LocksErr, StoreErr error
}

// LookAtParts is Look for a caller that can use what is right where the rest is
// not.
func LookAtParts(ctx context.Context, m *Machine, s Scope) (*Parts, error) {
	v, err := newView(m, s)
	if err != nil {
		return nil, err
	}
	if v.Reader, err = m.Places.Reader("none"); err != nil {
		return nil, err
	}
	v.seal.Reader = v.Reader
	return v.loadParts(ctx), nil
}

// Open declares what the specs ask for. It needs all parts.
func (p *Parts) Open(ctx context.Context) (*View, error) {
	for _, err := range []error{p.SpecErr, p.LocksErr, p.StoreErr} {
		if err != nil {
			return nil, err
		}
	}
	return p.View, p.Declare(ctx, p.Resolver(pin.Look))
}

// loadParts reads spec, facts, locks and records side by side.
func (w *View) loadParts(ctx context.Context) *Parts {
	p := &Parts{View: w}
	if w.Has(reconcile.HostOwner) {
		ahead(w.Facts)
	}
	var g errgroup.Group
	g.Go(func() error {
		p.SpecErr = guarded(func() error { return w.loadSpec(ctx) })()
		return nil
	})
	g.Go(func() error {
		p.LocksErr, p.StoreErr = w.loadRecordParts()
		return nil
	})
	_ = g.Wait() // the parts have their errors
	return p
}

// Load is loadParts for a caller that needs all of them.
func (w *View) Load(ctx context.Context) error {
	if w.Has(reconcile.HostOwner) {
		ahead(w.Facts)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(guarded(func() error { return w.loadSpec(ctx) }))
	g.Go(guarded(func() error { return w.loadRecords(ctx) }))
	return g.Wait()
}

func (w *View) loadSpec(ctx context.Context) error {
	o := schema.Options{Facts: w.Facts}
	if !w.Has(reconcile.HostOwner) {
		o.NoHost = w.withoutHost
	}
	s, err := w.LoadSpec(ctx, o)
	if err != nil {
		return err
	}
	w.Spec, w.Catalog = s, catalog.With(s.Catalog)
	w.Facts = w.WithPrograms(w.Facts, s.Catalog.Runtimes)
	return nil
}

// loadRecords reads what was made, and the locks: all that is needed to take
// it back where the spec is broken.
func (w *View) loadRecords(context.Context) error {
	locks, store := w.loadRecordParts()
	if locks != nil {
		return locks
	}
	return store
}

func (w *View) loadRecordParts() (locksErr, storeErr error) {
	var g errgroup.Group
	g.Go(guarded(func() (err error) {
		w.HostLock, err = pin.ReadFile(filepath.Join(w.Places.Config, LockName))
		return err
	}))
	g.Go(guarded(func() (err error) {
		if w.Places.Project != "" {
			w.ProjectLock, err = pin.ReadFile(filepath.Join(w.Places.Project, LockName))
		}
		return err
	}))
	storeErr = guarded(func() (err error) {
		w.Store, err = reconcile.OpenStore(w.Reader, w.Places.State)
		return w.ofState(err)
	})()
	locksErr = g.Wait()
	if w.ProjectLock != nil && storeErr == nil {
		var known *reconcile.Lock
		if w.ProjectLock.Found() {
			known = w.ProjectLock.Lock
		}
		w.Store.UseLock(reconcile.ProjectOwner(w.Places.Project), LockName, known)
		w.ProjectLock.Lock = w.Store.Lock()
	}
	return locksErr, storeErr
}

// withoutHost notes that a project is looked at without its host, which it
// does not need: what it asks for depends on no host.
func (w *View) withoutHost(why schema.Problem) {
	w.Declared.Notes = append(w.Declared.Notes, reconcile.Note{Text: why.Message + "; the project goes without a host"})
}

// ReadEnv is all that may be handed to something that only looks.
func (w *View) ReadEnv() reconcile.ReadEnv {
	return reconcile.ReadEnv{
		FS: w.Reader, Home: w.Places.Home, Run: w.Runner(), Clock: time.Now,
		Contents: w.Store.Contents, Backup: w.Store.Backup,
		Committed: func(p fsys.LogicalPath) ([]byte, bool) { return w.Repository(context.Background()).Committed(p) },
		Head:      func(p fsys.LogicalPath) ([]byte, bool) { return w.Repository(context.Background()).Head(p) },
		CRLF:      func(p fsys.LogicalPath) bool { return w.Repository(context.Background()).CRLF(p) },
	}
}

// Ignored tells which paths of the project git does not carry.
func (w *View) Ignored(ctx context.Context, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool {
	return w.Runner().ignored(ctx, w.Places.Project, paths)
}
