package runtime

import (
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Overlaps says which rules a program would load both from user scope and from
// the project. It is said and not mended: what a project writes may not depend
// on the host.
func Overlaps(host, project Decls, catalog []spec.Runtime) []reconcile.Note {
	mine, theirs := rulesBelow(host), rulesBelow(project)
	var notes []reconcile.Note
	for _, rt := range catalog {
		if rt.User.Rules == "" || rt.Project.Rules == "" || rt.Project.RulesIndex != "" {
			continue // it has no rules, or reads a list of them and so sees the repetition
		}
		user := mine(rt.User.Rules)
		var both []string
		var origin []reconcile.Position
		for _, name := range slices.Sorted(maps.Keys(theirs(rt.Project.Rules))) {
			if at, ok := user[name]; ok {
				both, origin = append(both, name), joined(origin, at)
			}
		}
		if len(both) == 0 {
			continue
		}
		notes = append(notes, reconcile.Note{
			Warning: true,
			Origin:  origin,
			Text: rt.ID + " loads " + shortened(both) + " twice, from " + rt.User.Rules + " and from " + rt.Project.Rules +
				"; a project's files may not depend on this machine, so leave \"rules\" out of the host's bundle, or live with it",
		})
	}
	return notes
}

// rulesBelow returns a function that finds the files declared below a folder.
func rulesBelow(d Decls) func(folder string) map[string][]reconcile.Position {
	return func(folder string) map[string][]reconcile.Position {
		out := map[string][]reconcile.Position{}
		for _, decl := range d.Declarations {
			if name, ok := strings.CutPrefix(decl.Target.Name(), folder+"/"); ok && len(decl.Leaves) > 0 {
				out[name] = decl.Leaves[0].Origin
			}
		}
		return out
	}
}

// shortened lists a few names and counts the rest.
func shortened(names []string) string {
	const few = 5
	if len(names) <= few {
		return list(names)
	}
	return list(names[:few]) + " and more"
}
