// Package pin resolves the names in a spec to exact versions, which aisync.lock
// keeps: a git source to a commit and the digest of its files, a model to a
// digest, quant: "auto" to a quant, a package to a version. It prints nothing,
// reads no environment, and writes no lock: it fills the cache and returns the
// pins. Read the locks with ReadFile, fill in a Resolver, ask it, and call its
// Result.
package pin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Mode says what a Resolver may do about something unpinned.
type Mode int

const (
	Look Mode = iota // nothing: it reads locks and the cache, and dials nothing
	Ask              // ask hubs and registries, and pin nothing
	Pin              // pin it; a model or package that cannot be pinned is left out
	Lock             // pin it; what cannot be pinned is an error
)

// pins reports whether a Resolver pins what is not pinned.
func (m Mode) pins() bool { return m == Pin || m == Lock }

// Update names the pins that move in mode Lock; the zero value moves none.
type Update struct {
	All bool
	IDs []string // of sources, models, runtimes, packages; or a kind of pin, such as "catalog"
}

// Resolver returns the pins of sources, models, quants and packages, and makes
// them if its mode allows. It writes only to the cache. Set its fields before
// the first call; its methods are safe for concurrent use.
type Resolver struct {
	Mode   Mode
	Locked bool                         // an unpinned item is an error
	Update Update                       // pins that move
	About  func(reconcile.Address) bool // models and packages to pin; nil: all

	Spec    *spec.Spec
	Catalog catalog.Index // may be replaced once the sources, which bring runtimes, are there
	Facts   func() (facts.Facts, error)
	Version string // of this aisync

	Host    *File   // the host's lock, which also pins models and packages
	Project *File   // the project's lock; nil outside a project
	Owned   []*File // the locks of the owners that take part

	Network  *Network
	Packages packages.Provider
	Env      reconcile.ReadEnv // for Packages
	Disk     fsys.FS           // writes the cache, in modes that pin
	Cache    Cache
	Store    string      // physical folder of the models
	Notify   func(Event) // receives what takes time; may be nil

	mu       sync.Mutex
	moving   map[string]bool           // the Update.IDs that match something
	fresh    map[string]bool           // "KIND NAME" of what this Resolver pinned
	locks    map[*File]*reconcile.Lock // the pins of each file with new pins
	changes  []Change
	diffs    map[string]Diff // by source and file
	left     []LeftOut       // packages
	models   map[string]LeftOut
	chosen   map[string]Chosen
	answers  map[string]*answer
	timeouts map[string]error // by host that did not answer
	unread   bool             // a source of headers did not answer; the others are not asked
}

// pinned returns the pin of a name in the file f, or by this Resolver.
func (r *Resolver) pinned(f *File, kind, name, host string) (reconcile.Pin, bool) {
	l := r.locks[f]
	if l == nil {
		l = f.Lock
	}
	return l.Pin(kind, name, host)
}

// get returns a pin that does not move, or has moved already. The pin of one
// still to move is returned with false.
func (r *Resolver) get(f *File, kind, name, host string) (reconcile.Pin, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pin, ok := r.pinned(f, kind, name, host)
	return pin, ok && (r.fresh[kind+" "+name] || !r.moves(kind, name))
}

// put records a pin and its change.
func (r *Resolver) put(f *File, pin reconcile.Pin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh == nil {
		r.fresh = map[string]bool{}
	}
	r.fresh[pin.Kind+" "+pin.Name] = true
	old, had := r.pinned(f, pin.Kind, pin.Name, pin.Host)
	if had && old.Host == pin.Host && maps.Equal(old.Values, pin.Values) {
		return
	}
	r.replace(f, pin)
	r.changes = append(r.changes, Change{old, pin})
}

// replace records a pin without a change.
func (r *Resolver) replace(f *File, pin reconcile.Pin) {
	pins, l := []reconcile.Pin{pin}, r.locks[f]
	if l == nil {
		pins, l = append(f.Lock.Pins(), pin), &reconcile.Lock{}
		if r.locks == nil {
			r.locks = map[*File]*reconcile.Lock{}
		}
		r.locks[f] = l
	}
	for _, p := range pins {
		l.SetPin(p)
	}
}

// isFresh reports whether this Resolver made the pin.
func (r *Resolver) isFresh(kind, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fresh[kind+" "+name]
}

// moves reports whether Update moves the pin of a name.
func (r *Resolver) moves(kind, name string) bool {
	for _, id := range r.Update.IDs {
		ofModel := (kind == "model" || kind == "files") && r.isFileOf(id, name)
		if id == name || id == kind || ofModel || kind == "package" && r.isPackageOf(id, name) {
			if r.moving == nil {
				r.moving = map[string]bool{}
			}
			r.moving[id] = true
			return true
		}
	}
	return r.Update.All
}

// isFileOf reports whether the pin called name is of a file of the model id.
func (r *Resolver) isFileOf(id, name string) bool {
	m, ok := r.Catalog.Model(id)
	if !ok {
		return false
	}
	for _, q := range m.Quants {
		if q.Repo != "" && quantName(q) == name {
			return true
		}
		files, _ := withShards(q.Files) // a file whose name is not that of a shard has no pin
		if slices.ContainsFunc(files, func(f spec.ModelFile) bool { return fileName(f) == name }) {
			return true
		}
	}
	return false
}

// isPackageOf reports whether the pin called name, MANAGER/PACKAGE, belongs to
// id: a runtime, or the package itself.
func (r *Resolver) isPackageOf(id, name string) bool {
	via, of, _ := strings.Cut(name, "/")
	rt, ok := r.Catalog.Runtime(id)
	return id == of || ok && rt.Packages[via] == of
}

// dials reports whether this Resolver may ask hubs, registries and managers.
func (r *Resolver) dials() bool {
	switch r.Mode {
	case Look:
		return false
	case Ask:
		return !r.Network.Offline
	}
	return !r.Network.Offline && !r.Locked
}

// about reports whether a model or package is to be pinned.
func (r *Resolver) about(a reconcile.Address) bool { return r.About == nil || r.About(a) }

func (r *Resolver) notify(e Event) {
	if r.Notify != nil {
		r.Notify(e)
	}
}

// notPinned is the error of something that has no pin and must get none.
func notPinned(what string, pos spec.Position) error {
	err := fmt.Errorf("%s is not pinned in %s", what, FileName)
	if s := pos.String(); s != "" {
		err = fmt.Errorf("%s: %w", s, err)
	}
	return &Error{Reason: NotPinned, Err: err}
}
