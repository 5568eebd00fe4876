// Package stack loads one machine and one project: specs, locks, records and
// services. It prints nothing. Open, Look and LookAtRecords return a View, which
// cannot write; Hold and its variants return a Session, which holds the lock.
package stack

import (
	"cmp"
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
	"aisync.dev/aisync/app/nativeplugin"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// View is one machine and one project, loaded. No part of it can write or dial.
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
	Declared              adapter.Decls            // what the specs ask for
	Native                [2][]nativeplugin.Plugin // asked for by the host, by the project

	Transfer   Transfer // how a Session fetches
	PullModels []string // models that Transfer.Source is for
	LeftOut    []error  // what the specs ask for and cannot be had now

	installers  map[spec.Position]string // why those of the host's installers are used that its spec leaves open
	noInstaller error                    // of what no installer of the spec can install here
	hasher      *SecretHasher
	effects     evaluatedEffects // of the plan that Effects saw last
	hooksShared bool             // git runs the project's hooks by the chain of another work tree
	repository  func() *Repository
}

// Open loads specs, locks and records, and declares what the specs ask for.
func Open(ctx context.Context, m *Machine, s Scope) (*View, error) {
	v, err := Look(ctx, m, s)
	if err != nil {
		return nil, err
	}
	return v, v.Declare(ctx, v.Resolver(pin.Look))
}

// Look loads specs, locks and records, and declares nothing.
func Look(ctx context.Context, m *Machine, s Scope) (*View, error) {
	return look(ctx, m, s, (*View).Load)
}

// LookAtRecords loads locks and records. The specs may be broken: View.Spec is
// empty.
func LookAtRecords(ctx context.Context, m *Machine, s Scope) (*View, error) {
	return look(ctx, m, s, (*View).loadRecords)
}

func look(ctx context.Context, m *Machine, s Scope, load func(*View, context.Context) error) (*View, error) {
	v, err := readOnlyView(m, s)
	if err != nil {
		return nil, err
	}
	return v, load(v, ctx)
}

// readOnlyView returns a View with nothing loaded, which cannot write.
func readOnlyView(m *Machine, s Scope) (*View, error) {
	reader, err := m.Places.Reader("none")
	if err != nil {
		return nil, err
	}
	return newView(m, s, reader, NewSecretHasher(reader, m.Places.State))
}

// newView returns a View with nothing loaded.
func newView(m *Machine, s Scope, reader fsys.Reader, hasher *SecretHasher) (*View, error) {
	owners, err := s.Owners(m.Places)
	if err != nil {
		return nil, err
	}
	services, err := m.serviceManager()
	if err != nil {
		return nil, err
	}
	v := &View{
		Machine: m, Services: services, Scope: s, Owners: owners, Spec: &spec.Spec{}, Reader: reader, hasher: hasher,
		Engine: &reconcile.Engine{Providers: Providers(m.Places, services, m.Offline, hasher.Hash)},
	}
	v.repository = sync.OnceValue(func() *Repository {
		return newRepository(context.Background(), v.Runner(), v.Places.Project, v.managedPaths)
	})
	return v, nil
}

// stateError adds to err what to do where aisync's own folder cannot be used.
func (v *View) stateError(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return advice.New(err, fmt.Sprintf("give %s and what is in it to the user who runs aisync (id %d)", v.Places.Physical(v.Places.State), os.Geteuid()))
}

// Parts is a View of which some parts may have failed to load, each with its
// error. The other parts are valid; a Spec that failed to load is empty.
type Parts struct {
	*View
	SpecErr, LocksErr, StoreErr error
}

// LookAtParts is Look for a caller that can use some parts where others fail to
// load.
func LookAtParts(ctx context.Context, m *Machine, s Scope) (*Parts, error) {
	v, err := readOnlyView(m, s)
	if err != nil {
		return nil, err
	}
	return v.loadParts(ctx), nil
}

// Err returns the first error of a part, nil where all loaded.
func (p *Parts) Err() error { return cmp.Or(p.SpecErr, p.LocksErr, p.StoreErr) }

// Open declares what the specs ask for, and returns the View. It needs all parts.
func (p *Parts) Open(ctx context.Context) (*View, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	return p.View, p.Declare(ctx, p.Resolver(pin.Look))
}

// loadParts reads spec, facts, locks and records concurrently.
func (v *View) loadParts(ctx context.Context) *Parts {
	p := &Parts{View: v}
	if v.Has(reconcile.HostOwner) {
		prefetchFacts(v.Facts)
	}
	var g errgroup.Group
	g.Go(func() error {
		p.SpecErr = catchPanics(func() error { return v.loadSpec(ctx) })()
		return nil
	})
	g.Go(func() error {
		p.LocksErr, p.StoreErr = v.loadRecordParts()
		return nil
	})
	_ = g.Wait() // the parts have their errors
	if p.Err() == nil {
		v.chooseVariants()
		p.SpecErr = v.chooseInstallers(ctx)
	}
	return p
}

// Load reads specs, locks and records; it fails where any of them cannot be read.
func (v *View) Load(ctx context.Context) error {
	if v.Has(reconcile.HostOwner) {
		prefetchFacts(v.Facts)
	}
	outer := ctx
	g, ctx := errgroup.WithContext(ctx)
	g.Go(catchPanics(func() error { return v.loadSpec(ctx) }))
	g.Go(catchPanics(func() error { return v.loadRecords(ctx) }))
	if err := g.Wait(); err != nil {
		return err
	}
	if err := v.takeBasePins(); err != nil {
		return err
	}
	v.chooseVariants()
	return v.chooseInstallers(outer)
}

func (v *View) loadSpec(ctx context.Context) error {
	o := schema.Options{Facts: v.Facts}
	if !v.Has(reconcile.HostOwner) {
		o.NoHost = v.noteMissingHost
	}
	s, err := v.LoadSpec(ctx, o)
	if err != nil {
		return err
	}
	v.Spec, v.Catalog = s, catalog.With(s.Catalog)
	v.Facts = hosts.Told(v.WithPrograms(v.Facts, s.Catalog.Runtimes), s.Host)
	return nil
}

// loadRecords reads locks and records: all that a rollback needs, whose specs
// may be broken.
func (v *View) loadRecords(context.Context) error {
	locks, store := v.loadRecordParts()
	if locks != nil {
		return locks
	}
	return store
}

func (v *View) loadRecordParts() (locksErr, storeErr error) {
	var g errgroup.Group
	g.Go(catchPanics(func() (err error) {
		v.HostLock, err = pin.ReadFile(filepath.Join(v.Places.Config, LockName))
		return err
	}))
	g.Go(catchPanics(func() (err error) {
		if v.Places.Project != "" {
			v.ProjectLock, err = pin.ReadFile(filepath.Join(v.Places.Project, LockName))
		}
		return err
	}))
	storeErr = catchPanics(func() (err error) {
		v.Store, err = reconcile.OpenStore(v.Reader, v.Places.State)
		return v.stateError(err)
	})()
	locksErr = g.Wait()
	if v.ProjectLock != nil && storeErr == nil {
		var known *reconcile.Lock
		if v.ProjectLock.Found() {
			known = v.ProjectLock.Lock
		}
		v.Store.UseLock(reconcile.ProjectOwner(v.Places.Project), LockName, known)
		v.ProjectLock.Lock = v.Store.Lock()
	}
	return locksErr, storeErr
}

// noteMissingHost notes that the project is looked at without a host. What a
// project asks for depends on none.
func (v *View) noteMissingHost(why schema.Problem) {
	v.Declared.Notes = append(v.Declared.Notes, reconcile.Note{Text: why.Message + "; the project goes without a host"})
}

// ReadEnv returns what providers may use that only look.
func (v *View) ReadEnv() reconcile.ReadEnv {
	return reconcile.ReadEnv{
		FS: v.Reader, Home: v.Places.Home, Run: v.Runner(), Clock: time.Now,
		Contents: v.Store.Contents, Backup: v.Store.Backup,
		Committed: func(p fsys.LogicalPath) ([]byte, bool) { return v.Repository().Committed(p) },
		Head:      func(p fsys.LogicalPath) ([]byte, bool) { return v.Repository().Head(p) },
		CRLF:      func(p fsys.LogicalPath) bool { return v.Repository().CRLF(p) },
	}
}

// Repository returns the project's git repository.
func (v *View) Repository() *Repository { return v.repository() }

// Ignored returns which of paths git ignores in the project; none where there is
// no git or no repository.
func (v *View) Ignored(ctx context.Context, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool {
	return v.Runner().ignored(ctx, v.Places.Project, paths)
}
