package reconcile

import (
	"io/fs"
	"slices"
)

// Change is what a plan does to one resource.
type Change struct {
	Target    Target
	Action    Action       // of the resource as a whole
	Leaves    []LeafChange // every leaf that is wanted or recorded, sorted by key
	Before    Observation
	Exact     *Fingerprint // of a rollback: the token to return to
	ExactMode fs.FileMode  // and the permission bits; 0: those that are there
	Next      []Record     // what is recorded afterwards, one an owner that has anything left
	Owners    []Owner      // whose records this change writes: an owner here without a Record in Next has none left
}

// LeafChange is what a plan does to one leaf.
type LeafChange struct {
	Key  LeafKey
	Want *Leaf       // nil: no longer wanted
	Last *LeafRecord // nil: never recorded
	Rel  Relation
	Decision
}

// Writes reports whether c touches anything but records.
func (c Change) Writes() bool {
	for _, l := range c.Leaves {
		if l.Writes() {
			return true
		}
	}
	return false
}

// undecided reports whether a choice is missing for c.
func (c Change) undecided() bool {
	return slices.ContainsFunc(c.Leaves, func(l LeafChange) bool { return l.Action == Clash && !l.ReadOnly })
}

// Drift reports whether anything of c is not as it was recorded.
func (c Change) Drift() bool {
	for _, l := range c.Leaves {
		if l.Drift {
			return true
		}
	}
	return false
}

// Pending reports whether the spec wants anything else than was recorded.
func (c Change) Pending() bool {
	for _, l := range c.Leaves {
		if l.Pending {
			return true
		}
	}
	return false
}

// Origin returns the places that ask for what c changes, without repeats.
func (c Change) Origin() []Position {
	var out []Position
	seen := map[Position]bool{}
	add := func(changing bool) {
		for _, l := range c.Leaves {
			if l.Want == nil || (l.Action != None) != changing {
				continue
			}
			for _, p := range l.Want.Origin {
				if !seen[p] {
					seen[p] = true
					out = append(out, p)
				}
			}
		}
	}
	add(true)
	if len(out) == 0 {
		add(false)
	}
	return out
}

// summary is the one action that stands for all leaves of a resource: what
// nobody decided comes first, then what is written, then what is recorded.
func summary(leaves []LeafChange, before Observation) Action {
	has := map[Action]int{}
	dropped := 0
	for _, l := range leaves {
		has[l.Action]++
		if l.Want == nil && (l.Action == Delete || l.Action == Release) {
			dropped++
		}
	}
	writes := has[Create] + has[Update] + has[Delete] + has[PutBack]
	switch {
	case has[Unclear] > 0:
		return Unclear
	case has[Clash] > 0:
		return Clash
	case writes > 0 && before.Presence == Absent:
		return Create
	case has[Delete] > 0 && dropped == len(leaves):
		return Delete
	case writes > 0:
		return Update
	case has[Accept] > 0:
		return Accept
	case has[Release] > 0:
		return Release
	}
	return None
}

// next is what is recorded of c's target once c is done, one record for each
// of owners that has anything left there.
func next(c Change, records []Record, owners []Owner) []Record {
	var out []Record
	for _, o := range owners {
		res := c.Target.Resource
		had := Record{Address: c.Target.addressOf(o), Local: res.Local}
		if i := slices.IndexFunc(records, func(r Record) bool { return r.Owner == o }); i >= 0 {
			had = records[i]
		}
		rec := Record{Address: had.Address, Owner: o, Format: res.Format, Local: res.Local, Inputs: c.Before.Inputs, DependsOn: res.DependsOn, Private: c.Target.Private}
		if len(res.Leaves) == 0 {
			rec.Local = had.Local
		}
		for _, l := range c.Leaves {
			if lr, ok := l.next(c, o, had.Leaf(l.Key)); ok {
				rec.Leaves = append(rec.Leaves, lr)
			}
		}
		if len(rec.Leaves) > 0 {
			out = append(out, rec)
		}
	}
	return out
}

// next is what owner o has on record of l afterwards; had is what it has now.
func (l LeafChange) next(c Change, o Owner, had *LeafRecord) (LeafRecord, bool) {
	if l.Want == nil {
		if (l.Action == Unclear || l.Action == Clash) && had != nil {
			return *had, true
		}
		return LeafRecord{}, false
	}
	if !slices.Contains(l.Want.Owners, o) {
		return LeafRecord{}, false
	}
	if l.Action == Clash || l.Action == Unclear || l.Action == None || l.Same {
		if l.Last == nil {
			return LeafRecord{}, false
		}
		return *l.Last, true
	}
	lr := LeafRecord{Key: l.Key, Own: l.Want.Own, Provenance: l.Provenance}
	if l.Last != nil {
		lr.Prior, lr.Private = l.Last.Prior, l.Last.Private
	}
	if l.TakePrior {
		lr.Prior = BackupID(c.Before.Token)
	}
	if lr.Provenance != Replaced {
		lr.Prior = ""
	}
	want := l.Want.Body.Fingerprint()
	switch {
	case l.Writes():
		lr.Live = want
	default:
		lr.Live = c.Before.Live[l.Key]
		if lr.Live != want {
			lr.Want = want
		}
	}
	if l.Decline {
		lr.Declined, lr.Want = want, ""
	}
	return lr, true
}

// Sourced is a Body that knows what its source held before.
type Sourced interface {
	Held(Fingerprint) bool // now, or at any time in the source's history
}

// vouch takes l, which only a lock claims, for this machine's own where the
// source of what is wanted holds the whole of what is there.
func (s *Store) vouch(t Target, l LeafChange, owners []Owner) {
	if l.Key != "" || l.Last == nil || !l.Last.Claimed || !l.Rel.WantLive {
		return
	}
	for _, o := range owners {
		for i := range s.Records(o) {
			if rec := &s.owners[o].Records[i]; t.Is(rec.Address) && rec.Leaf("") != nil {
				rec.Leaf("").Claimed, s.index = false, nil
			}
		}
	}
}

// spare releases the leaves of c that would be removed though only a lock says
// that aisync made them, and what is there is held neither by git's HEAD nor,
// for a whole file, by a source or among the texts that aisync wrote on this
// machine: a lock comes with a clone, and its word alone loses no byte.
func (e *Engine) spare(r ReadEnv, c Change, in Input) {
	var head map[LeafKey]Fingerprint
	looked := false
	for i := range c.Leaves {
		l := &c.Leaves[i]
		if l.Last == nil || !l.Last.Claimed || l.Action != Delete && l.Action != PutBack {
			continue
		}
		if !looked {
			head, looked = e.atHead(r, c.Target), true
		}
		is := c.Before.Live[l.Key]
		if is != "" && head[l.Key] == is || l.Key == "" && (c.Target.Resource.Address.Kind() == "dir" || written(r, is) || fromSource(in.Declarations, is)) {
			continue // a folder goes only while it is empty
		}
		l.Decision = Decision{Action: Release, Pending: true, Warn: true, Meaning: "only aisync.lock says that aisync made it, and git's HEAD does not hold it as it is: left to you"}
	}
}

// atHead is what git's HEAD holds of t; nothing where that is not known.
func (e *Engine) atHead(r ReadEnv, t Target) map[LeafKey]Fingerprint {
	p, ok := e.provider(t.Resource.Address.Kind()).(Attester)
	if !ok || r.Head == nil || !t.Resource.Address.InProject() {
		return nil
	}
	text, ok := r.Head(t.Resource.Address.Path(r.Home))
	if !ok {
		return nil
	}
	return p.Attest(t, text)
}

// written reports whether aisync wrote just that on this machine, and keeps it.
func written(r ReadEnv, f Fingerprint) bool {
	if r.Contents == nil {
		return false
	}
	_, ok := r.Contents(f)
	return ok
}

// fromSource reports whether the source of any declaration holds, or held,
// just that.
func fromSource(decls []Declaration, f Fingerprint) bool {
	return slices.ContainsFunc(decls, func(d Declaration) bool {
		return slices.ContainsFunc(d.Leaves, func(l Leaf) bool {
			s, ok := l.Body.(Sourced)
			return ok && s.Held(f)
		})
	})
}
