package stack

import (
	"context"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Duplicates returns what the programs of the specs load twice in the project, or
// in the home where there is none, once p is applied, of aisync and of others. It needs
// v.Declare.
func (v *View) Duplicates(ctx context.Context, p *reconcile.Plan) ([]contextreport.Duplicate, error) {
	begin := real(v.Places.Project)
	if begin == "" {
		begin = real(v.Places.Physical(v.Places.Home))
	}
	return v.duplicates(ctx, p, v.programs(), begin)
}

// DuplicatesNow returns what programs that are started in a folder load twice as
// things are, by the records of what aisync made.
func (v *View) DuplicatesNow(ctx context.Context, programs []spec.Runtime, folder string) ([]contextreport.Duplicate, error) {
	return v.duplicates(ctx, nil, programs, real(folder))
}

func (v *View) duplicates(ctx context.Context, p *reconcile.Plan, programs []spec.Runtime, begin string) ([]contextreport.Duplicate, error) {
	d := duplicates{View: v, ctx: ctx, plan: p, own: map[string]contextreport.Own{}, changes: map[string]reconcile.Change{}, known: map[string]lookalikes{}}
	tree, err := d.overlay()
	if err != nil {
		return nil, err
	}
	return contextreport.FindDuplicates(contextreport.Search{
		Programs: programs, Start: begin, Own: d.own, Titles: d.titles, Known: d.lookUp,
		Text:    func(at string) ([]byte, error) { return d.text(d.changes[at], at) },
		Machine: loads.Machine{Tree: tree, Home: real(v.Places.Physical(v.Places.Home)), Environment: v.Env},
	})
}

// NoteDuplicates adds to p a warning for each thing that a program will load
// twice. A plan of a part knows too little for that.
func (v *View) NoteDuplicates(ctx context.Context, p *reconcile.Plan) error {
	if p.Partial {
		return nil
	}
	list, err := v.Duplicates(ctx, p)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(d contextreport.Duplicate) bool {
		return d.Is == contextreport.Imported && d.Extra.Ours // a note of the adapter names it
	})
	for _, s := range contextreport.Sentences(list, v.ShortPath) {
		text := s.Text
		switch {
		case s.Fix == contextreport.TakeOver:
			text += "; run: " + s.Fix
		case s.Fix != "":
			text += "; " + s.Fix
		}
		p.Notes = append(p.Notes, reconcile.Note{Warning: true, Text: text})
	}
	return nil
}

// DuplicateSentences says what programs load twice once p is applied.
func (v *View) DuplicateSentences(ctx context.Context, p *reconcile.Plan) ([]contextreport.Sentence, error) {
	list, err := v.Duplicates(ctx, p)
	return contextreport.Sentences(list, v.ShortPath), err
}

// ShortPath is a path with links resolved, from where the person stands.
func (v *View) ShortPath(p string) string {
	if rel, err := filepath.Rel(real(v.Places.Project), p); err == nil && filepath.IsLocal(rel) && v.Places.Project != "" {
		p = filepath.Join(v.Places.Project, rel)
	} else if rel, err := filepath.Rel(real(v.Places.Physical(v.Places.Home)), p); err == nil && filepath.IsLocal(rel) {
		p = filepath.Join(v.Places.Physical(v.Places.Home), rel)
	}
	return v.Places.Short(v.Cwd, p)
}

// removable are the files that Choice.TakeOver removes, with their digests. A copy
// may hide another from a program, so that it looks again until there is no more.
func (v *View) removable(ctx context.Context, in reconcile.Input) (map[reconcile.Address]reconcile.Fingerprint, error) {
	in.Targets, in.Excludes = nil, nil // a part of a plan knows too little
	in.Duplicates = map[reconcile.Address]reconcile.Fingerprint{}
	for more := true; more; {
		p, err := v.Engine.Plan(ctx, v.ReadEnv(), v.Store, in)
		if err != nil {
			return nil, err
		}
		list, err := v.Duplicates(ctx, p)
		if err != nil {
			return nil, err
		}
		more = false
		for _, d := range list {
			a, ok := v.addressOf(d.Extra.Path)
			if _, had := in.Duplicates[a]; !ok || had || !d.Removable() {
				continue
			}
			in.Duplicates[a], more = reconcile.Fingerprint(d.Digest), true
		}
	}
	return in.Duplicates, nil
}

// notTakenOver names the files that Choice.TakeOver leaves to the person.
func notTakenOver(p *reconcile.Plan) []reconcile.Note {
	var notes []reconcile.Note
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			if l.Key != "" || l.Want == nil || c.Target.Resource.Address.Kind() != "file" || l.Rel.Own != reconcile.Exclusive || !l.Rel.Live || l.Rel.Held {
				continue
			}
			if l.Decline || l.Provenance == reconcile.Adopted || l.Action == reconcile.Clash {
				notes = append(notes, reconcile.Note{Warning: true, Origin: c.Origin(), Text: string(c.Target.Resource.Address) + " is not taken over: no version of its source has these bytes"})
			}
		}
	}
	return notes
}

// addressOf is the address of a file within the scope of v.
func (v *View) addressOf(at string) (reconcile.Address, bool) {
	if v.Places.Project != "" && v.Has(reconcile.ProjectOwner(v.Places.Project)) {
		if rel, err := filepath.Rel(real(v.Places.Project), at); err == nil && filepath.IsLocal(rel) {
			return reconcile.Address("file:" + filepath.ToSlash(rel)), true
		}
	}
	if v.Has(reconcile.HostOwner) {
		if rel, err := filepath.Rel(real(v.Places.Physical(v.Places.Home)), at); err == nil && filepath.IsLocal(rel) {
			return reconcile.Address("file:~/" + filepath.ToSlash(rel)), true
		}
	}
	return "", false
}

// real is a path with links resolved; a path that does not exist stays.
func real(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil && p != "" {
		return r
	}
	return p
}

// programs are those whose loading is known and that the specs name; a generic
// runtime stands for the program that drives it.
func (v *View) programs() []spec.Runtime {
	named := map[string]bool{}
	add := func(id, cli string) {
		rt, ok := v.Catalog.Runtime(id)
		if ok && rt.Loads == nil && rt.Local {
			for _, d := range start.Drivers(v.Catalog.Runtimes()) {
				if cli == "" || d.ID == cli {
					id = d.ID
					break
				}
			}
		}
		named[id] = true
	}
	if h := v.Spec.Host; h != nil && !h.Builtin && v.Has(reconcile.HostOwner) {
		for _, u := range h.Runtimes {
			add(u.ID, u.CLI)
		}
	}
	if p := v.Spec.Project; p != nil {
		for _, n := range p.RuntimesHere() {
			add(n.Value, "")
		}
	}
	return slices.DeleteFunc(slices.Clone(v.Catalog.Runtimes()), func(rt spec.Runtime) bool { return !named[rt.ID] || rt.Loads == nil })
}
