package adapter

import (
	"maps"
	"slices"

	"aisync.dev/aisync/reconcile"
)

// Overlaps reports which rules a program would load both from user scope and
// from the project. It changes nothing: a project's files may not depend on the
// host.
func Overlaps(host, project Decls) []reconcile.Note {
	user := map[[2]string]load{} // by runtime and text
	for _, l := range host.loads {
		if l.from != "" {
			user[[2]string{l.runtime, l.text}] = l
		}
	}
	type both struct {
		rules, from []string
		origin      []reconcile.Position
	}
	twice := map[string]both{}
	for _, l := range project.loads {
		mine, ok := user[[2]string{l.runtime, l.text}]
		if l.from == "" || !ok {
			continue
		}
		t := twice[l.runtime]
		t.rules, t.origin = append(t.rules, l.rule), joined(t.origin, mine.origin)
		for _, from := range []string{mine.from, l.from} {
			if !slices.Contains(t.from, from) {
				t.from = append(t.from, from)
			}
		}
		twice[l.runtime] = t
	}
	var notes []reconcile.Note
	for _, runtime := range slices.Sorted(maps.Keys(twice)) {
		t := twice[runtime]
		slices.Sort(t.rules)
		notes = append(notes, reconcile.Note{
			Warning: true,
			Origin:  t.origin,
			Text: runtime + " loads " + shortened(slices.Compact(t.rules)) + " twice, from " + t.from[0] + " and from " + list(t.from[1:]) +
				"; a project's files may not depend on this machine, so leave \"rules\" out of the host's bundle, or accept the duplicates",
		})
	}
	return notes
}

// shortened lists a few names and counts the rest.
func shortened(names []string) string {
	const few = 5
	if len(names) <= few {
		return list(names)
	}
	return list(names[:few]) + " and more"
}
