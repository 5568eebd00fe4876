// Package names moves what is declared for a settings file to the name under which
// the file exists. It is pure. Call Use.
package names

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Use moves what is for a settings file to the name under which it exists:
// opencode.jsonc, where a project has that. Of several the program's last one
// counts, and a note names it. exists is asked about paths as the catalog has
// them; a project's files are the same for everyone who has cloned it.
func Use(declared []reconcile.Declaration, runtimes []spec.Runtime, scope func(spec.Runtime) spec.Scope, exists func(path string) bool) (notes []reconcile.Note) {
	for _, rt := range runtimes {
		s := scope(rt).Settings
		if s == nil || len(s.Also) == 0 {
			continue
		}
		at := slices.IndexFunc(declared, func(decl reconcile.Declaration) bool { return decl.Target == fileAt(s.Path) })
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
			if len(declared[at].Leaves) > 0 {
				origin = declared[at].Leaves[0].Origin
			}
			notes = append(notes, reconcile.Note{Origin: origin, Text: fmt.Sprintf(
				"%s reads %s, and the last of them counts where they differ: what aisync sets goes into %s", rt.ID, strings.Join(present, ", then "), name)})
		}
		rename(declared, fileAt(s.Path), fileAt(name), strings.TrimPrefix(path.Ext(name), "."))
	}
	return notes
}

func fileAt(path string) reconcile.Address { return reconcile.Address("file:" + path) }

// rename gives a target another name and format, also where others wait for it.
func rename(declared []reconcile.Declaration, from, to reconcile.Address, format string) {
	for i := range declared {
		decl := &declared[i]
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
	sort.SliceStable(declared, func(i, j int) bool { return declared[i].Target < declared[j].Target })
}
