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
func (w *View) Plan(ctx context.Context, ask Request) (*reconcile.Plan, error) {
	in := w.input(ask)
	if ask.Strays || ask.Choice.Restore { // by policy alone, nothing is taken away that nobody asked for
		in.Strays = w.strays(ctx)
	}
	p, err := w.Engine.Plan(ctx, w.ReadEnv(), w.Store, in)
	return p, errors.Join(err, w.seal.err)
}

func (w *View) input(ask Request) reconcile.Input {
	if h := w.Spec.Host; h != nil && h.Policy.Drift == "enforce" && !ask.Choice.Adopt {
		ask.Choice.Restore = true
	}
	return reconcile.Input{
		Declarations: w.Declared.Declarations, Unsupported: w.Declared.Unsupported, Notes: w.notesAbout(ask),
		Owners: w.Owners, Choice: ask.Choice, Targets: ask.Targets, Excludes: ask.Excludes, Hold: ask.Hold,
	}
}

// notesAbout are the notes that have to do with what was asked for: all, or
// those of the places that ask for a target, and warnings of no place.
func (w *View) notesAbout(ask Request) []reconcile.Note {
	if len(ask.Targets) == 0 {
		return w.Declared.Notes
	}
	asking := map[reconcile.Position]bool{}
	for _, d := range w.Declared.Declarations {
		if slices.ContainsFunc(ask.Targets, d.Target.Match) {
			for _, l := range d.Leaves {
				for _, p := range l.Origin {
					asking[p] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(w.Declared.Notes), func(n reconcile.Note) bool {
		if len(n.Origin) == 0 {
			return !n.Warning
		}
		return !slices.ContainsFunc(n.Origin, func(p reconcile.Position) bool { return asking[p] })
	})
}

// meta says what p was made from and where.
func (w *View) Meta(p *reconcile.Plan, ask Request) reconcile.PlanMeta {
	_, undecided := w.Effects(p)
	m := reconcile.PlanMeta{
		EffectsDigest: effects.Digest(undecided),
		Version:       w.Version, Lineage: w.Store.Lineage(), SpecDigest: w.Spec.Digest,
		LockDigest: strings.Trim(w.HostLock.Digest()+" "+w.ProjectLock.Digest(), " "), CatalogDigest: catalog.Digest(),
		Scope: string(w.Scope), Targets: ask.Targets, Excludes: ask.Excludes, Choice: ask.Choice,
	}
	if w.Spec.Host != nil {
		m.Host = w.Spec.Host.Name
	}
	return m
}

// view makes p ready to be shown.
func (w *View) view(ctx context.Context, p *reconcile.Plan, ask Request, mode diffMode) *planView {
	explain := w.Explain(ctx)
	if mode == diffNone {
		explain = nil
	}
	v := newPlanView(p, w.Meta(p, ask), explain)
	_, undecided := w.Effects(p)
	v.Effects = orEmpty(undecided)
	v.NotTrusted = orEmpty(w.NotTrusted(p))
	if v.Summary.FetchBytes > 0 && w.Spec.Host != nil {
		v.Disk = w.Disk(v.Summary.FetchBytes)
	}
	return v
}

// explain asks the providers what changes do.
func (w *View) Explain(ctx context.Context) func(reconcile.Change) []reconcile.Line {
	env := w.ReadEnv()
	return func(c reconcile.Change) []reconcile.Line {
		for _, p := range w.Engine.Providers {
			if p.Kind() == c.Target.Resource.Address.Kind() {
				return p.Explain(ctx, env, c)
			}
		}
		return nil
	}
}

// disk says how much room there is where the models go; nil where nobody knows.
func (w *View) Disk(fetch int64) *diskView {
	store := w.Spec.Host.Store.Value
	if store == "" {
		store = "~"
	}
	logical := reconcile.Address("dir:" + store).Path(w.Places.Home)
	dir := w.Places.Physical(logical)
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
func (a *app) planText(w *View, command string, mode diffMode) planText {
	t := planText{paint: a.paint(), diff: mode, command: command, host: "Host", project: "Project", unchanged: a.g.verbose}
	if w.Spec == nil {
		return t // of a command that goes by records alone
	}
	if h := w.Spec.Host; h != nil {
		t.host = "Host " + h.Name
		if !h.Builtin {
			t.host += " (" + w.Places.Short(w.Cwd, w.Places.Config) + ")"
		}
		if w.Places.NewRoot {
			t.host += " (root " + w.Places.Root + ", not there yet)"
		}
	}
	if p := w.Spec.Project; p != nil {
		t.project = "Project " + p.Name + " (" + w.Places.Short(w.Cwd, w.Places.Project) + ")"
	}
	return t
}
