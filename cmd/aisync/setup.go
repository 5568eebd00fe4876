package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// world is everything that a command which plans works with, loaded.
type world struct {
	app    *app
	places places
	keeper keeper
	scope  scope
	owners []reconcile.Owner

	spec    *spec.Spec
	catalog catalog.Index
	facts   func() (facts.Facts, error) // looks once, when first asked

	hostLock, projectLock *pin.File
	store                 *reconcile.Store
	engine                *reconcile.Engine
	seal                  *sealer
	reader                fsys.Reader
	bundles               *bundle.Sources
	declared              adapter.Decls // what the specs ask for
	judged                judged        // see effectsOf
	hooksShared           bool          // git runs the project's hooks by the chain of another work tree
	repository            *repository   // see repo
	repoOnce              sync.Once

	// Of commands that write:
	leftOut []error   // what was asked for and cannot be had now
	bar     *progress // while changes are made
	fetch   fetchFlags
	pulled  []string // models that fetch.source is for

	fs       fsys.FS
	applyID  string
	tookBack string // the apply that an interrupted rollback had taken back, as recover found
	held     *state.Held
}

// setup loads the world of a command that only looks: no part of it can write
// or dial.
func (a *app) setup(ctx context.Context, s scope) (*world, error) {
	w, err := a.lookAround(ctx, s)
	if err != nil {
		return nil, err
	}
	return w, w.declare(ctx, w.resolver(pin.Look))
}

// lookAround is setup without what the specs ask for.
func (a *app) lookAround(ctx context.Context, s scope) (*world, error) {
	w, err := a.locate(s)
	if err != nil {
		return nil, err
	}
	if err := w.onlyLook(); err != nil {
		return nil, err
	}
	return w, w.load(ctx)
}

// onlyLook gives w a file system that cannot write.
func (w *world) onlyLook() (err error) {
	w.app.sayNewRoot(w.places)
	w.reader, err = w.places.reader("none")
	w.seal.reader = w.reader
	return err
}

// setupHeld takes the lock of the state, finishes what an earlier apply left
// unfinished, pins what is not pinned where that is allowed, and loads
// everything. The caller releases it.
func (a *app) setupHeld(ctx context.Context, ask asked, f applyFlags, command string) (*world, error) {
	w, err := a.hold(ctx, ask.scope, f, command)
	if err != nil {
		return nil, err
	}
	w.fetch, w.pulled = ask.fetch, ask.models
	if err := w.ready(ctx, ask); err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

// hold is the first half of setupHeld: everything is loaded but the spec.
func (a *app) hold(ctx context.Context, s scope, f applyFlags, command string) (*world, error) {
	w, err := a.locate(s)
	if err != nil {
		return nil, err
	}
	if err := a.makeRoot(w.places, command); err != nil {
		return nil, err
	}
	w.applyID = reconcile.NewApplyID(time.Now())
	disk, held, err := a.lockState(ctx, w.places, w.applyID, f.lockTimeout, command)
	if err != nil {
		return nil, w.ofState(err)
	}
	w.fs, w.reader, w.held = disk, disk, held
	w.seal.disk, w.seal.reader = disk, disk
	a.env[state.PIDVariable] = fmt.Sprint(os.Getpid())
	return w, nil
}

// lockState takes the lock of the state, and returns the file system to write
// with; tag is part of the names of its temp files.
func (a *app) lockState(ctx context.Context, p places, tag string, timeout time.Duration, command string) (*fsys.Disk, *state.Held, error) {
	disk, err := fsys.New(p.fsOptions(tag))
	if err != nil {
		return nil, nil, err
	}
	host, _ := os.Hostname() // only for the message to who waits
	held, err := state.Open(disk, p.state).Lock(ctx, disk, timeout, state.Holder{PID: os.Getpid(), Host: host, Since: time.Now(), Command: command})
	return disk, held, err
}

// holdRecords is setupHeld for what goes by the records and the locks alone,
// be the specs as broken as they may.
func (a *app) holdRecords(ctx context.Context, s scope, f applyFlags, command string) (*world, error) {
	w, err := a.hold(ctx, s, f, command)
	if err != nil {
		return nil, err
	}
	if err = w.loadRecords(ctx); err == nil {
		err = w.recover(ctx)
	}
	if err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

func (w *world) ready(ctx context.Context, ask asked) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	if err := w.recover(ctx); err != nil {
		return err
	}
	return w.declare(ctx, w.resolverFor(ask))
}

// release gives the lock back.
func (w *world) release() {
	if w.held != nil {
		_ = w.held.Release() // the end of the process does it as well
	}
}

// recover finishes an interrupted apply and says what that meant. What a
// command left behind that was killed before it began is taken away.
func (w *world) recover(ctx context.Context) error {
	if err := w.hostLock.Sweep(w.places.fsOptions(w.applyID)); err != nil {
		return err
	}
	if !w.store.Unfinished() {
		return w.store.Sweep(w.fs)
	}
	of := w.store.TakingBack()
	lines, err := w.engine.Recover(ctx, w.write(nil), w.store)
	for _, l := range lines {
		w.app.say("aisync: %s", safe(l))
	}
	if err == nil && of != "" && w.store.TakenBack(of) {
		w.tookBack = of
	}
	return err
}

// ofState says what to do where aisync's own folder cannot be used.
func (w *world) ofState(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return advise(err, fmt.Sprintf("give %s and what is in it to the user who runs aisync (id %d)", w.places.physical(w.places.state), os.Geteuid()))
}

// locate finds places and owners and makes the engine.
func (a *app) locate(s scope) (*world, error) {
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
	k, err := a.keeper(p)
	if err != nil {
		return nil, err
	}
	seal := &sealer{state: p.state}
	engine := &reconcile.Engine{Providers: providers(p, k, a.g.offline, seal.Seal)}
	return &world{app: a, places: p, keeper: k, scope: s, owners: owners, engine: engine, seal: seal, facts: a.factsOf(p)}, nil
}

// load reads spec, facts, locks and records side by side.
func (w *world) load(ctx context.Context) error {
	if w.has(reconcile.HostOwner) {
		ahead(w.facts)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(guarded(func() (err error) {
		o := schema.Options{Facts: w.facts}
		if !w.has(reconcile.HostOwner) {
			o.NoHost = w.withoutHost
		}
		w.spec, err = w.app.loadSpecWith(ctx, w.places, o)
		return err
	}))
	g.Go(guarded(func() error { return w.loadRecords(ctx) }))
	if err := g.Wait(); err != nil {
		return err
	}
	w.catalog = catalog.With(w.spec.Catalog)
	w.facts = w.withOwnPrograms(w.facts)
	return nil
}

// loadRecords reads what was made, and the locks: all that is needed to take
// it back, be the spec as broken as it may.
func (w *world) loadRecords(ctx context.Context) error {
	g, _ := errgroup.WithContext(ctx)
	g.Go(guarded(func() (err error) {
		w.hostLock, err = pin.ReadFile(filepath.Join(w.places.config, lockName))
		return err
	}))
	g.Go(guarded(func() (err error) {
		if w.places.project != "" {
			w.projectLock, err = pin.ReadFile(filepath.Join(w.places.project, lockName))
		}
		return err
	}))
	g.Go(guarded(func() (err error) {
		w.store, err = reconcile.OpenStore(w.reader, w.places.state)
		return w.ofState(err)
	}))
	if err := g.Wait(); err != nil {
		return err
	}
	if w.projectLock != nil {
		var known *reconcile.Lock
		if w.projectLock.Found() {
			known = w.projectLock.Lock
		}
		w.store.UseLock(reconcile.ProjectOwner(w.places.project), lockName, known)
		w.projectLock.Lock = w.store.Lock()
	}
	return nil
}

// loadSpec reads the specs and chooses the host.
func (a *app) loadSpec(ctx context.Context, p places) (*spec.Spec, error) {
	return a.loadSpecWith(ctx, p, schema.Options{Facts: a.factsOf(p)})
}

// loadSpecWith is loadSpec with what o says of facts, and of having no host.
func (a *app) loadSpecWith(ctx context.Context, p places, o schema.Options) (*spec.Spec, error) {
	cwd, err := a.cwd()
	if err != nil {
		return nil, err
	}
	if a.g.host == "" {
		ahead(o.Facts) // most likely needed to choose the host
	}
	o.HostDir, o.HostName, o.ProjectDir, o.Cwd = p.config, a.g.host, p.project, cwd
	o.Lent, o.Rehearse, o.Abort = a.lender(p), a.rehearse, a.abort
	return schema.Load(ctx, o)
}

// withoutHost notes that a project is looked at without its host, which it
// does not need: what it asks for depends on no host.
func (w *world) withoutHost(why schema.Problem) {
	w.declared.Notes = append(w.declared.Notes, reconcile.Note{Text: why.Message + "; the project goes without a host"})
}

// ahead begins to look at the machine before anybody asks. Who asks gets what
// was found, the error, or the panic.
func ahead(look func() (facts.Facts, error)) {
	go func() {
		defer func() { _ = recover() }()
		_, _ = look()
	}()
}

// loadFacts says what is true of the machine.
func (a *app) loadFacts(_ context.Context, p places) (facts.Facts, error) { return a.factsOf(p)() }

// factsOf returns a function that looks once, however often it is called.
func (a *app) factsOf(p places) func() (facts.Facts, error) {
	return sync.OnceValues(func() (facts.Facts, error) {
		if a.g.facts != "" {
			return hosts.ReadFacts(a.g.facts)
		}
		return hosts.Detect(context.Background(), hosts.Options{
			Root: p.root, Home: string(p.home), Path: filepath.SplitList(a.env.get("PATH")),
		}), nil
	})
}

// withOwnPrograms adds to what look finds the programs of runtimes that the
// person's own catalog or a source has. Facts out of a file stay as they are.
func (w *world) withOwnPrograms(look func() (facts.Facts, error)) func() (facts.Facts, error) {
	if w.app.g.facts != "" || len(w.spec.Catalog.Runtimes) == 0 {
		return look
	}
	return sync.OnceValues(func() (facts.Facts, error) {
		f, err := look()
		f.Programs = maps.Clone(f.Programs)
		for _, r := range w.spec.Catalog.Runtimes {
			if at := hosts.FindProgram(w.places.root, filepath.SplitList(w.app.env.get("PATH")), r.Command); at != "" {
				f.Programs[r.Command] = at
			}
		}
		return f, err
	})
}

// read is all that may be handed to something that only looks.
func (w *world) read() reconcile.ReadEnv {
	return reconcile.ReadEnv{
		FS: w.reader, Home: w.places.home, Run: runner{w.app.env, w.app.gate}, Clock: time.Now,
		Contents: w.store.Contents, Backup: w.store.Backup,
		Committed: func(p fsys.LogicalPath) ([]byte, bool) { return w.repo(context.Background()).Committed(p) },
		Head:      func(p fsys.LogicalPath) ([]byte, bool) { return w.repo(context.Background()).Head(p) },
		CRLF:      func(p fsys.LogicalPath) bool { return w.repo(context.Background()).CRLF(p) },
	}
}

// write is what an apply is handed. events may be nil.
func (w *world) write(events func(reconcile.Event)) reconcile.WriteEnv {
	env := reconcile.WriteEnv{ReadEnv: w.read(), FS: w.fs}
	network := w.network()
	env.Fetch, env.Reach = network.Fetcher(), network.Reacher()
	env.Progress = func(a reconcile.Address, done, total int64) {
		if events != nil {
			events(reconcile.Event{Kind: "progress", Address: a, Done: done, Total: total})
		}
	}
	return env
}

// ignored tells which paths of the project git does not carry.
func (w *world) ignored(ctx context.Context, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool {
	return runner{w.app.env, w.app.gate}.ignored(ctx, w.places.project, paths)
}
