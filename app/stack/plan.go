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

// Plan returns the plan of what ask asks for. It needs v.Declare.
func (v *View) Plan(ctx context.Context, ask Request) (*reconcile.Plan, error) {
	in := v.input(ask)
	older := v.FolderSources().Ages(ctx)
	in.Older = older.Of
	if ask.Untracked || ask.Choice.Restore { // policy "enforce" alone removes no file
		in.Strays = v.untracked(ctx)
	}
	if ask.Choice.TakeOver {
		var err error
		if in.Duplicates, err = v.removable(ctx, in); err != nil {
			return nil, err
		}
	}
	p, err := v.Engine.Plan(ctx, v.ReadEnv(), v.Store, in)
	if err == nil && ask.Choice.TakeOver {
		p.Notes = append(p.Notes, notTakenOver(p)...)
	}
	if err == nil && len(ask.Targets) == 0 {
		p.Notes = slices.Concat(p.Notes, v.misfitNotes())
		var notes []reconcile.Note
		notes, err = v.BudgetNotes(p)
		p.Notes = slices.Concat(p.Notes, notes)
	}
	if err == nil {
		p.Notes = append(append(p.Notes, older.Notes(func(p string) string { return v.Places.Short(v.Cwd, p) })...), v.ownLayerNote()...)
	}
	return p, errors.Join(err, v.hasher.err, v.hasher.keyErr)
}

func (v *View) input(ask Request) reconcile.Input {
	if h := v.Spec.Host; h != nil && h.Policy.Drift == "enforce" && !ask.Choice.Adopt {
		ask.Choice.Restore = true
	}
	return reconcile.Input{
		Declarations: v.Declared.Declarations, Unsupported: v.Declared.Unsupported, Notes: v.notesAbout(ask),
		Owners: v.Owners, Choice: ask.Choice, Targets: ask.Targets, Excludes: ask.Excludes, Hold: ask.Hold, Keep: ask.Keep,
	}
}

// notesAbout returns the notes for ask: all where it names no targets, else those
// of the places that ask for its targets, and warnings of no place.
func (v *View) notesAbout(ask Request) []reconcile.Note {
	if len(ask.Targets) == 0 {
		return v.Declared.Notes
	}
	asking := map[reconcile.Position]bool{}
	for _, d := range v.Declared.Declarations {
		if slices.ContainsFunc(ask.Targets, d.Target.Match) {
			for _, l := range d.Leaves {
				for _, p := range l.Origin {
					asking[p] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(v.Declared.Notes), func(n reconcile.Note) bool {
		if len(n.Origin) == 0 {
			return !n.Warning
		}
		return !slices.ContainsFunc(n.Origin, func(p reconcile.Position) bool { return asking[p] })
	})
}

// Meta returns what p was made from, and where.
func (v *View) Meta(p *reconcile.Plan, ask Request) reconcile.PlanMeta {
	_, undecided := v.Effects(p)
	m := reconcile.PlanMeta{
		EffectsDigest: effects.Digest(undecided),
		Version:       v.Version, Lineage: v.Store.Lineage(), SpecDigest: v.Spec.Digest,
		LockDigest: strings.Trim(v.HostLock.Digest()+" "+v.ProjectLock.Digest(), " "), CatalogDigest: catalog.Digest(),
		Scope: string(v.Scope), Targets: ask.Targets, Excludes: ask.Excludes, Choice: ask.Choice,
	}
	if v.Spec.Host != nil {
		m.Host = v.Spec.Host.Name
	}
	return m
}

// Explain returns a function that has the provider of a change describe it.
func (v *View) Explain(ctx context.Context) func(reconcile.Change) []reconcile.Line {
	env := v.ReadEnv()
	return func(c reconcile.Change) []reconcile.Line {
		for _, p := range v.Engine.Providers {
			if p.Kind() == c.Target.Resource.Address.Kind() {
				return p.Explain(ctx, env, c)
			}
		}
		return nil
	}
}
