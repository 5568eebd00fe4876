package pin

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// TestMain keeps the git configuration of the person who runs the tests out of
// them.
func TestMain(m *testing.M) {
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	os.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	os.Exit(m.Run())
}

// stage is a machine with a host spec, a project, their locks, and a hub.
type stage struct {
	t        *testing.T
	root     string // of the machine
	hub      *hubtest.Hub
	env      map[string]string
	host     *spec.Host
	project  *spec.Project
	own      spec.Catalog
	facts    facts.Facts
	hostLock *File
	projLock *File
	disk     *fsys.Disk
	run      reconcile.Runner
	mu       sync.Mutex
	events   []Event
}

const home = "/home/me"

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, root: t.TempDir(), hub: hubtest.New(t), run: command{}}
	s.env = map[string]string{"HF_ENDPOINT": s.hub.URL}
	for _, dir := range []string{home, "/etc/aisync", "/code/app"} {
		must(t, os.MkdirAll(s.root+dir, 0o755))
	}
	var ok bool
	if s.facts, ok = hosts.Recorded("velox"); !ok {
		t.Fatal("no recorded facts")
	}
	s.host = &spec.Host{Name: "velox", Dir: s.root + "/etc/aisync"}
	s.project = &spec.Project{Name: "app", Dir: s.root + "/code/app"}
	s.hostLock, s.projLock = s.read(s.host.Dir), s.read(s.project.Dir)
	disk, err := fsys.New(fsys.Options{Root: s.root, Home: home, Tag: "t"})
	must(t, err)
	s.disk = disk
	return s
}

func (s *stage) read(dir string) *File {
	s.t.Helper()
	f, err := ReadFile(filepath.Join(dir, FileName))
	must(s.t, err)
	return f
}

// model adds an own model, and lets the host use it at quant.
func (s *stage) model(id, quant string, quants ...spec.Quant) {
	s.own.Models = append(s.own.Models, spec.Model{ID: id, Quants: quants})
	s.host.Models = append(s.host.Models, spec.ModelUse{ID: id, Quant: quant, Pos: spec.Position{File: "velox.cue", Line: len(s.host.Models) + 1, Col: 1}})
}

func (s *stage) resolver(mode Mode, set ...func(*Resolver)) *Resolver {
	r := &Resolver{
		Mode: mode, Spec: &spec.Spec{Host: s.host, Project: s.project}, Catalog: catalog.With(s.own), Version: "v1.0.0",
		Facts: func() (facts.Facts, error) { return s.facts, nil },
		Host:  s.hostLock, Project: s.projLock, Owned: []*File{s.hostLock, s.projLock},
		Network: &Network{Getenv: func(k string) string { return s.env[k] }, Home: s.root + home, UserAgent: "test"},
		Cache:   Cache{Dir: home + "/.cache/aisync", Root: s.root},
		Store:   s.root + home + "/models",
		Env:     reconcile.ReadEnv{FS: s.disk, Home: home, Run: s.run},
		Notify: func(e Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
	}
	if mode.pins() {
		r.Disk = s.disk
	}
	for _, f := range set {
		f(r)
	}
	r.Packages = packages.New(packages.Options{Offline: r.Network.Offline, Cache: r.Cache.Dir})
	return r
}

// told returns what was notified so far.
func (s *stage) told() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

func offline(r *Resolver) { r.Network.Offline = true }
func locked(r *Resolver)  { r.Locked = true }

func update(ids ...string) func(*Resolver) {
	return func(r *Resolver) { r.Update = Update{All: len(ids) == 0, IDs: ids} }
}

// models resolves all models of the host, as an apply does.
func (s *stage) models(r *Resolver) (map[string]spec.Quant, error) {
	r.Prefetch(s.t.Context(), s.host.Models)
	out := map[string]spec.Quant{}
	var errs []error
	for _, use := range s.host.Models {
		m, ok := r.Catalog.Model(use.ID)
		if !ok {
			s.t.Fatalf("no model %s", use.ID)
		}
		q, _, err := r.Model(s.t.Context(), use, m)
		out[use.ID], errs = q, append(errs, err)
	}
	return out, errors.Join(errs...)
}

// settle writes what r pinned into the locks, as the commands do.
func (s *stage) settle(r *Resolver) Result {
	s.t.Helper()
	res, err := r.Result()
	must(s.t, err)
	for f, pins := range res.Pins {
		f.Set(pins)
	}
	for _, f := range []*File{s.hostLock, s.projLock} {
		must(s.t, f.Save(fsys.Options{Tag: "t"}))
	}
	s.hostLock, s.projLock = s.read(s.host.Dir), s.read(s.project.Dir)
	return res
}

// pins are the values of all pins of a kind in a lock, by name.
func pins(f *File, kind string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, p := range f.Lock.Pins() {
		if p.Kind == kind {
			out[p.Name] = p.Values
		}
	}
	return out
}

// kinds are the kinds of the events since the last call.
func (s *stage) kinds() []EventKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []EventKind
	for _, e := range s.events {
		out = append(out, e.Kind)
	}
	s.events = nil
	return out
}

// tiny is a GGUF file; n makes another one of it with the same header.
func tiny(t *testing.T, n byte) []byte {
	t.Helper()
	b, err := os.ReadFile("../../golden/contract/models/tiny.gguf")
	must(t, err)
	b[len(b)-1] = n
	return b
}

// command runs programs of this machine.
type command struct{ env []string }

func (c command) Run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), c.env...)
	return cmd.Output()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError wants an Error of that reason and id, which says text.
func wantError(t *testing.T, err error, reason Reason, id, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Reason != reason || e.ID != id || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v (%+v), want reason %d of %q that says %q", err, e, reason, id, text)
	}
}

func TestOnlyAnOlderReleaseIsRefused(t *testing.T) {
	for have, older := range map[string]bool{
		"v0.0.9": true, "v0.1.0": false, "v1.0.0": false, "v0.1.1-0.20261121220035-97f40df49cef": false,
		"v0.0.0-20261121220035-97f40df49cef+dirty": false, "devel": false, "97f40df-dirty": false,
	} {
		if got := olderThan(have, oldestReader); got != older {
			t.Errorf("%s is older than %s: %v", have, oldestReader, got)
		}
	}
	if olderThan("v1.0.0", "soon") {
		t.Error("a version that is none refuses every aisync")
	}
}

func TestResultPinsTheCatalogInEachOwnedLock(t *testing.T) {
	s := newStage(t)
	if res := s.settle(s.resolver(Pin, locked)); len(res.Pins) != 0 {
		t.Errorf("locked, and pinned %v", res.Pins)
	}
	r := s.resolver(Pin, func(r *Resolver) { r.Owned = []*File{s.projLock} })
	res := s.settle(r)
	if s.hostLock.Found() {
		t.Error("a lock whose owner takes no part was written")
	}
	want := map[string]string{"digest": catalog.Digest()}
	if got := pins(s.projLock, "catalog")["embedded"]; !maps.Equal(got, want) {
		t.Errorf("pinned %v", got)
	}
	if got := pins(s.projLock, "aisync")["oldest"]["version"]; got != oldestReader {
		t.Errorf("oldest is %q", got)
	}
	if len(res.Changes) != 2 || res.Changes[0].Old.Kind != "" {
		t.Errorf("changes %v", res.Changes)
	}
	host := s.hostLock
	host.Set([]reconcile.Pin{tool})
	if again := s.settle(s.resolver(Pin)); len(again.Pins) != 1 || len(again.Pins[host]) != 2 { // those of the host, now
		t.Errorf("pinned again: %v", again.Pins)
	}
	if third := s.settle(s.resolver(Pin)); len(third.Pins)+len(third.Changes) != 0 {
		t.Errorf("pinned a third time: %v", third.Pins)
	}
}

func TestResultComparesTheCatalog(t *testing.T) {
	s := newStage(t)
	other := reconcile.Pin{Kind: "catalog", Name: "embedded", Values: map[string]string{"digest": "sha256:other"}}
	s.hostLock.Lock.SetPin(other)
	s.projLock.Lock.SetPin(reconcile.Pin{Kind: "aisync", Name: "oldest", Values: map[string]string{"version": "v9.0.0"}})

	_, err := s.resolver(Pin).Result()
	if err == nil || !strings.Contains(err.Error(), s.projLock.Path+": written for aisync v9.0.0 or newer, but this is v1.0.0") {
		t.Errorf("a lock of a newer aisync: %v", err)
	}
	mine := func(r *Resolver) { r.Owned = []*File{s.hostLock} }
	for _, mode := range []Mode{Look, Pin, Lock} {
		res, err := s.resolver(mode, mine).Result()
		must(t, err)
		if len(res.Notes) != 1 || res.Notes[0].Kind != OtherCatalog || !strings.HasPrefix(res.Notes[0].Text, s.hostLock.Path+" pins another catalog") || len(res.Pins) != 0 {
			t.Errorf("mode %d: %+v", mode, res)
		}
	}
	_, err = s.resolver(Pin, mine, locked).Result()
	wantError(t, err, Unfit, "catalog", "pins another catalog than the one in aisync v1.0.0")

	res, err := s.resolver(Lock, mine, update("catalog")).Result()
	must(t, err)
	if len(res.Changes) != 2 || !reflect.DeepEqual(res.Changes[0].Old, other) || res.Changes[0].New.Values["digest"] != catalog.Digest() {
		t.Errorf("update: %+v", res.Changes)
	}
	if got := s.hostLock.Lock.Pins(); !reflect.DeepEqual(got, []reconcile.Pin{other}) {
		t.Errorf("the Resolver wrote the lock: %v", got)
	}
	if res, err := s.resolver(Look, func(r *Resolver) { r.Owned = nil }).Result(); err != nil || len(res.Pins)+len(res.Notes) != 0 {
		t.Errorf("looking pins %+v, %v", res, err)
	}
}

func TestSourcesAreThoseOfTheSpecOfALock(t *testing.T) {
	s := newStage(t)
	s.host.Bundles = []spec.HostBundle{{Name: "mine"}}
	s.project.Sources = []spec.Source{{Name: "rules"}, {Name: "team"}}
	r := s.resolver(Look)
	for _, c := range []struct {
		f    *File
		want []string
	}{{s.hostLock, []string{"mine"}}, {s.projLock, []string{"rules", "team"}}} {
		c.f.Set([]reconcile.Pin{{Kind: "bundle", Name: "mine"}, {Kind: "bundle", Name: "old"}, {Kind: "bundle", Name: "rules"}, {Kind: "model", Name: "old"}})
		names, ok := r.Sources(c.f)
		if !ok || !slices.Equal(names, c.want) {
			t.Errorf("%s: %v, %v", c.f.Path, names, ok)
		}
		c.f.KeepSources(names)
		if got := slices.Sorted(maps.Keys(pins(c.f, "bundle"))); !slices.Equal(got, c.want[:1]) || pins(c.f, "model")["old"] != nil && len(pins(c.f, "model")) != 1 {
			t.Errorf("%s: kept %v", c.f.Path, got)
		}
	}
	r.Spec = &spec.Spec{}
	if names, ok := r.Sources(s.hostLock); ok || names != nil {
		t.Errorf("without a spec: %v", names)
	}
}

func TestNetworkRefusesOffline(t *testing.T) {
	s := newStage(t)
	n := &Network{Getenv: func(k string) string { return s.env[k] }, Offline: true}
	_, err := n.Fetcher().Fetch(t.Context(), s.disk, "m.gguf", []string{s.hub.URL}, 1, strings.Repeat("0", 64), "/home/me/part", nil)
	if !errors.Is(err, reconcile.ErrOffline) {
		t.Errorf("Fetch: %v", err)
	}
	if err := n.Tree(t.Context(), "git::"+s.hub.URL, t.TempDir()+"/x"); !errors.Is(err, reconcile.ErrOffline) {
		t.Errorf("Tree: %v", err)
	}
	if n.Reacher() != nil {
		t.Error("there is a Reacher")
	}
	if got := s.hub.Requests(); len(got) != 0 {
		t.Errorf("asked %v", got)
	}
}

func TestNetworkFetchesAndReachesFromTheHub(t *testing.T) {
	s := newStage(t)
	commit := s.hub.Add("me/m", hubtest.File{Path: "m.gguf", Data: tiny(t, 0)})
	s.hub.Gate("me/m", "hf_secret", true)
	must(t, os.MkdirAll(filepath.Join(s.root+home, ".cache/huggingface"), 0o700))
	must(t, os.WriteFile(filepath.Join(s.root+home, ".cache/huggingface/token"), []byte("hf_secret\n"), 0o600))
	n := &Network{Getenv: func(k string) string { return s.env[k] }, Home: s.root + home}
	source, sum := "hf://me/m@"+commit+"/m.gguf", strings.TrimPrefix(fsys.Digest(tiny(t, 0)), "sha256:")
	must(t, n.Reacher()(t.Context(), "m.gguf", []string{source}, int64(len(tiny(t, 0))), sum))
	_, err := n.Fetcher().Fetch(t.Context(), s.disk, "m.gguf", []string{source}, int64(len(tiny(t, 0))), sum, home+"/part", nil)
	must(t, err)
	if got, err := os.ReadFile(s.root + home + "/part"); err != nil || string(got) != string(tiny(t, 0)) {
		t.Errorf("fetched %d bytes, %v", len(got), err)
	}
	if leaks := s.hub.Leaks(); len(leaks) != 0 {
		t.Errorf("the token went to %v", leaks)
	}
}
