package stack

import (
	"cmp"
	"slices"

	"aisync.dev/aisync/app/programage"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// ProgramAges returns the ages of the installed programs of the specs. It starts
// none of them.
func (v *View) ProgramAges() (out []programage.Age) {
	f, err := v.Facts()
	if err != nil || v.Places.Root != "" {
		return nil // another check reports the error; nothing runs below a root
	}
	add := func(id string, pos spec.Position) {
		rt, ok := v.Catalog.Runtime(id)
		at := f.Programs[rt.Command]
		if !ok || at == "" {
			return
		}
		if i := slices.IndexFunc(out, func(a programage.Age) bool { return a.Runtime.ID == rt.ID }); i >= 0 {
			out[i].Origin = append(out[i].Origin, reconcile.Position(pos))
			return
		}
		out = append(out, programage.Of(rt, at, reconcile.Position(pos)))
	}
	if h := v.Spec.Host; h != nil && v.Has(reconcile.HostOwner) {
		for _, u := range h.Runtimes {
			add(cmp.Or(u.CLI, u.ID), u.Pos)
		}
	}
	if p := v.Spec.Project; p != nil && v.Has(reconcile.ProjectOwner(v.Places.Project)) {
		for _, n := range p.RuntimesHere() {
			add(n.Value, n.Pos)
		}
	}
	return out
}

// misfitNotes warns of programs whose version takes a part in another form.
func (v *View) misfitNotes() (out []reconcile.Note) {
	for _, a := range v.ProgramAges() {
		for _, text := range a.Misfits() {
			out = append(out, reconcile.Note{Warning: true, Text: text, Origin: a.Origin})
		}
	}
	return out
}
