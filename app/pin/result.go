package pin

import (
	"errors"
	"maps"
	"slices"

	"aisync.dev/aisync/reconcile"
)

// Change is a pin that is new, or another than before.
type Change struct {
	Old reconcile.Pin // zero where nothing was pinned
	New reconcile.Pin
}

// Result is what came of all questions.
type Result struct {
	Pins      map[*File][]reconcile.Pin // what was pinned
	Changes   []Change                  // of Pins, those that say something else than before
	Diffs     []Diff                    // how the files of sources that moved differ, by source
	Notes     []Note
	LeftOut   []LeftOut // what cannot be had now: packages as they were asked for, then models by ID
	Unmatched []string  // the Update.IDs of which nothing is pinned
}

// Result returns what came of all questions. It pins the catalog, and the
// oldest aisync that may apply, in each of Owned. The error joins what is wrong
// with those locks (a newer aisync wrote one, or, where Locked, it pins another
// catalog) and with the facts.
func (r *Resolver) Result() (Result, error) {
	res := Result{Pins: map[*File][]reconcile.Pin{}}
	err := r.pinCatalogs(&res)
	notes, wrong := r.fitNotes()
	res.Notes = append(res.Notes, notes...)
	r.mu.Lock()
	defer r.mu.Unlock()
	for f, l := range r.locks {
		res.Pins[f] = slices.DeleteFunc(l.Pins(), func(p reconcile.Pin) bool { return !r.fresh[p.Kind+" "+p.Name] })
	}
	res.Changes = r.changes
	for _, name := range slices.Sorted(maps.Keys(r.diffs)) {
		res.Diffs = append(res.Diffs, r.diffs[name])
	}
	res.LeftOut = slices.Clip(r.left)
	for _, id := range slices.Sorted(maps.Keys(r.models)) {
		res.LeftOut = append(res.LeftOut, r.models[id])
	}
	for _, id := range r.Update.IDs {
		if !r.moving[id] {
			res.Unmatched = append(res.Unmatched, id)
		}
	}
	return res, errors.Join(err, wrong)
}

// Event is something that a person is told while it happens.
type Event struct {
	Kind EventKind
	Name string // of a source, a package, a file; of Waiting, the hosts
	From string // of FetchingArchive, its address
	Err  error  // of HeaderUnread
}

// EventKind says what happens.
type EventKind int

const (
	Waiting         EventKind = iota // hosts have not said yet what they have of the models; see Patience
	FetchingSource                   // a bundle source
	FetchingArchive                  // an archive whose digest is not known: what comes is pinned
	HeaderUnread                     // a model's header cannot be had, so its size alone is known
)
