package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/reconcile"
)

// plan makes the plan of what was asked.
func (w *world) plan(ctx context.Context, ask asked) (*reconcile.Plan, error) {
	in := w.input(ask)
	if ask.strays || ask.choice.Restore { // by policy alone, nothing is taken away that nobody asked for
		in.Strays = w.strays(ctx)
	}
	p, err := w.engine.Plan(ctx, w.read(), w.store, in)
	return p, errors.Join(err, w.seal.err)
}

func (w *world) input(ask asked) reconcile.Input {
	if h := w.spec.Host; h != nil && h.Policy.Drift == "enforce" && !ask.choice.Adopt {
		ask.choice.Restore = true
	}
	return reconcile.Input{
		Declarations: w.declared.Declarations, Unsupported: w.declared.Unsupported, Notes: w.notesAbout(ask),
		Owners: w.owners, Choice: ask.choice, Targets: ask.targets, Excludes: ask.excludes, Hold: ask.hold,
	}
}

// notesAbout are the notes that have to do with what was asked for: all, or
// those of the places that ask for a target, and warnings of no place.
func (w *world) notesAbout(ask asked) []reconcile.Note {
	if len(ask.targets) == 0 {
		return w.declared.Notes
	}
	asking := map[reconcile.Position]bool{}
	for _, d := range w.declared.Declarations {
		if slices.ContainsFunc(ask.targets, d.Target.Match) {
			for _, l := range d.Leaves {
				for _, p := range l.Origin {
					asking[p] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(w.declared.Notes), func(n reconcile.Note) bool {
		if len(n.Origin) == 0 {
			return !n.Warning
		}
		return !slices.ContainsFunc(n.Origin, func(p reconcile.Position) bool { return asking[p] })
	})
}

// meta says what p was made from and where.
func (w *world) meta(p *reconcile.Plan, ask asked) reconcile.PlanMeta {
	_, undecided := w.effectsOf(p)
	m := reconcile.PlanMeta{
		EffectsDigest: effects.Digest(undecided),
		Version:       versionText(), Lineage: w.store.Lineage(), SpecDigest: w.spec.Digest,
		LockDigest: strings.Trim(w.hostLock.Digest()+" "+w.projectLock.Digest(), " "), CatalogDigest: catalog.Digest(),
		Scope: string(w.scope), Targets: ask.targets, Excludes: ask.excludes, Choice: ask.choice,
	}
	if w.spec.Host != nil {
		m.Host = w.spec.Host.Name
	}
	return m
}

// view makes p ready to be shown.
func (w *world) view(ctx context.Context, p *reconcile.Plan, ask asked, mode diffMode) *planView {
	explain := w.explain(ctx)
	if mode == diffNone {
		explain = nil
	}
	v := newView(p, w.meta(p, ask), explain)
	_, undecided := w.effectsOf(p)
	v.Effects = orEmpty(undecided)
	v.NotTrusted = orEmpty(w.notTrusted(p))
	if v.Summary.FetchBytes > 0 && w.spec.Host != nil {
		v.Disk = w.disk(v.Summary.FetchBytes)
	}
	return v
}

// explain asks the providers what changes do.
func (w *world) explain(ctx context.Context) func(reconcile.Change) []reconcile.Line {
	env := w.read()
	return func(c reconcile.Change) []reconcile.Line {
		for _, p := range w.engine.Providers {
			if p.Kind() == c.Target.Resource.Address.Kind() {
				return p.Explain(ctx, env, c)
			}
		}
		return nil
	}
}

// disk says how much room there is where the models go; nil where nobody knows.
func (w *world) disk(fetch int64) *diskView {
	store := w.spec.Host.Store.Value
	if store == "" {
		store = "~"
	}
	logical := reconcile.Address("dir:" + store).Path(w.places.home)
	dir := w.places.physical(logical)
	for {
		if _, err := os.Stat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return nil
	}
	free := int64(s.Bavail) * int64(s.Bsize)
	return &diskView{Path: store, Before: free, After: free - fetch}
}

// planText is how plans of this world are printed.
func (w *world) planText(command string, mode diffMode) planText {
	cwd, _ := w.app.cwd() // only to shorten names
	t := planText{paint: w.app.paint(), diff: mode, command: command, host: "Host", project: "Project", unchanged: w.app.g.verbose}
	if w.spec == nil {
		return t // of a command that goes by records alone
	}
	if h := w.spec.Host; h != nil {
		t.host = "Host " + h.Name
		if !h.Builtin {
			t.host += " (" + w.places.short(cwd, w.places.config) + ")"
		}
		if w.places.newRoot {
			t.host += " (root " + w.places.root + ", not there yet)"
		}
	}
	if p := w.spec.Project; p != nil {
		t.project = "Project " + p.Name + " (" + w.places.short(cwd, w.places.project) + ")"
	}
	return t
}
