package stack

import (
	"context"
	"errors"
	"slices"
	"strings"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/reconcile"
)

// Plan makes the plan of what was asked.
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

// Meta says what p was made from and where.
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

// Explain asks the providers what changes do.
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
