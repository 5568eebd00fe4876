package stack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// ProgramAge is how the installed version of a program relates to what is known of
// the parts that aisync writes for it.
type ProgramAge struct {
	Runtime spec.Runtime
	Version string // "": its files do not tell it
	Origin  []reconcile.Position
	Parts   []catalog.Standing // empty where Version is unknown
}

// ProgramAges returns the ages of the installed programs of the specs. It starts
// none of them.
func (v *View) ProgramAges() (out []ProgramAge) {
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
		if i := slices.IndexFunc(out, func(a ProgramAge) bool { return a.Runtime.ID == rt.ID }); i >= 0 {
			out[i].Origin = append(out[i].Origin, reconcile.Position(pos))
			return
		}
		a := ProgramAge{Runtime: rt, Version: hosts.ProgramVersion(at), Origin: []reconcile.Position{reconcile.Position(pos)}}
		if a.Version != "" {
			a.Parts = catalog.Compare(rt, a.Version)
		}
		out = append(out, a)
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

// Misfits returns the parts that the installed version takes in another form than
// aisync writes: a sentence for each reason.
func (a ProgramAge) Misfits() (out []string) {
	var seen []spec.PartFacts
	for _, s := range a.Parts {
		if s.Age != catalog.OutOfSpan || slices.Contains(seen, s.Facts) {
			continue
		}
		seen = append(seen, s.Facts)
		var parts []string
		for _, o := range a.Parts {
			if o.Facts == s.Facts {
				parts = append(parts, o.Part)
			}
		}
		text := fmt.Sprintf("%s is version %s, and aisync writes its %s for %s", a.Runtime.Command, a.Version, strings.Join(parts, ", "), s.Facts.Versions)
		if s.Facts.Says != "" {
			text += ": " + s.Facts.Says
		}
		out = append(out, text+" ("+s.Facts.Source+")")
	}
	return out
}

// Lacks reports whether the installed version takes part in another form than
// aisync writes.
func (a ProgramAge) Lacks(part string) bool {
	return slices.ContainsFunc(a.Parts, func(s catalog.Standing) bool { return s.Part == part && s.Age == catalog.OutOfSpan })
}

// Other returns a sentence about a version that is not the one that was run, and
// takes everything as far as is known; "" if there is nothing to say.
func (a ProgramAge) Other() string {
	var parts []string
	run, age := "", catalog.Age("")
	for _, s := range a.Parts {
		if s.Age == catalog.Newer || s.Age == catalog.Older {
			parts, run, age = append(parts, s.Part), s.Run, s.Age
		}
	}
	if len(parts) == 0 {
		return ""
	}
	word := "newer"
	if age == catalog.Older {
		word = "older"
	}
	return fmt.Sprintf("%s is version %s, %s than %s, with which aisync was tried: %s", a.Runtime.Command, a.Version, word, run, strings.Join(parts, ", "))
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
