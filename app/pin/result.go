package pin

import (
	"errors"
	"maps"
	"slices"

	"aisync.dev/aisync/reconcile"
)

// Change is a new or changed pin.
type Change struct {
	Old reconcile.Pin // zero if nothing was pinned
	New reconcile.Pin
}

// Result is the outcome of all calls.
type Result struct {
	Pins      map[*File][]reconcile.Pin // what was pinned
	Changes   []Change                  // of Pins, those that are new or changed
	Diffs     []Diff                    // how the files of moved sources differ, by source
	Notes     []Note
	LeftOut   []LeftOut // what is not available now: packages in order, then models by ID
	Unmatched []string  // the Update.IDs that match no pin
}

// Result returns the outcome of all calls. It pins the catalog, and the oldest
// aisync that may apply, in each of Owned. The error joins the faults of those
// locks (a newer aisync wrote one or, if Locked, one pins another catalog) and
// of the facts.
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

// Event reports something to a person while it happens.
type Event struct {
	Kind EventKind
	Name string // of a source, a package, a file; for Waiting, the hosts
	From string // of FetchingArchive, its address
	Err  error  // for HeaderUnread
}

// EventKind says what happens.
type EventKind int

const (
	Waiting         EventKind = iota // hosts have not described the models yet; see Patience
	FetchingSource                   // a bundle source
	FetchingBase                     // a spec that the host's extends
	FetchingArchive                  // an archive with an unknown digest, which will be pinned
	HeaderUnread                     // a model's header is not available, so only its size is known
)
