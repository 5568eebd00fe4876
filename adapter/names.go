package adapter

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// UseNames moves what is for a settings file to the name under which it exists:
// opencode.jsonc, where a project has that. Of several the program's last one
// counts, and a note names it. exists is asked about paths as the catalog has
// them; a project's files are the same for everyone who has cloned it.
func (d *Decls) UseNames(runtimes []spec.Runtime, scope func(spec.Runtime) spec.Scope, exists func(path string) bool) {
	for _, rt := range runtimes {
		s := scope(rt).Settings
		if s == nil || len(s.Also) == 0 {
			continue
		}
		at := slices.IndexFunc(d.Declarations, func(decl reconcile.Declaration) bool { return decl.Target == fileAt(s.Path) })
		if at < 0 {
			continue
		}
		present := slices.DeleteFunc(slices.Concat([]string{s.Path}, s.Also), func(name string) bool { return !exists(name) })
		if len(present) == 0 || present[len(present)-1] == s.Path {
			continue
		}
		name := present[len(present)-1]
		if len(present) > 1 {
			var origin []reconcile.Position
			if len(d.Declarations[at].Leaves) > 0 {
				origin = d.Declarations[at].Leaves[0].Origin
			}
			d.Notes = append(d.Notes, reconcile.Note{Origin: origin, Text: fmt.Sprintf(
				"%s reads %s, and the last of them counts where they differ: what aisync sets goes into %s", rt.ID, strings.Join(present, ", then "), name)})
		}
		d.rename(fileAt(s.Path), fileAt(name), strings.TrimPrefix(path.Ext(name), "."))
	}
}

// rename gives a target another name and format, also where others wait for it.
func (d *Decls) rename(from, to reconcile.Address, format string) {
	for i := range d.Declarations {
		decl := &d.Declarations[i]
		if decl.Target == from {
			decl.Target, decl.Format = to, string(merge.Format(format))
		}
		for j, on := range decl.DependsOn {
			if on == from {
				decl.DependsOn = slices.Clone(decl.DependsOn)
				decl.DependsOn[j] = to
			}
		}
	}
	slices.SortStableFunc(d.Declarations, func(a, b reconcile.Declaration) int { return strings.Compare(string(a.Target), string(b.Target)) })
}
