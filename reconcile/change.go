package reconcile

import (
	"io/fs"
	"slices"
)

// Change is what a plan does to one resource.
type Change struct {
	Target    Target
	Action    Action       // of the resource as a whole
	Leaves    []LeafChange // every wanted or recorded leaf, sorted by key
	Before    Observation
	Exact     *Fingerprint // of a rollback: the token to restore
	ExactMode fs.FileMode  // its permission bits; 0: the present ones
	Next      []Record     // the records afterwards, one for each owner with anything left
	Owners    []Owner      // owners whose records change; one without a Record in Next has none left
}

// LeafChange is what a plan does to one leaf.
type LeafChange struct {
	Key  LeafKey
	Want *Leaf       // nil: no longer wanted
	Last *LeafRecord // nil: never recorded
	Rel  Relation
	Decision

	Waits bool // for a later plan, by Input.Keep
}

// Writes reports whether c changes more than records.
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

// DecidedBy reports whether choice leaves nothing of c undecided.
func (c Change) DecidedBy(choice Choice) bool {
	return !slices.ContainsFunc(c.Leaves, func(l LeafChange) bool {
		return l.Action == Clash && Decide(l.Rel, choice).Action == Clash
	})
}

// Drift reports whether any leaf of c differs from its record.
func (c Change) Drift() bool {
	for _, l := range c.Leaves {
		if l.Drift {
			return true
		}
	}
	return false
}

// Older reports whether a source of c is older than its record.
func (c Change) Older() bool {
	return slices.ContainsFunc(c.Leaves, func(l LeafChange) bool { return l.Rel.Older && l.Action == Clash })
}

// Pending reports whether the spec wants something other than the record.
func (c Change) Pending() bool {
	for _, l := range c.Leaves {
		if l.Pending {
			return true
		}
	}
	return false
}

// Origin returns the positions that ask for c's changes, without duplicates.
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

// summary is the action that stands for all leaves of a resource: undecided
// first, then written, then recorded.
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

// next is the records of c's target after c, one for each of owners with
// anything left.
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

// next is owner o's record of l after c; had is the present one.
func (l LeafChange) next(c Change, o Owner, had *LeafRecord) (LeafRecord, bool) {
	if l.Want == nil {
		if (l.Action == Unclear || l.Action == Clash || l.Waits) && had != nil {
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

// Sourced is a Body that knows its source's former contents.
type Sourced interface {
	Held(Fingerprint) bool // now, or ever in the source's history
}

// vouch accepts as this machine's a leaf that only a lock claims, if the source
// of what is wanted has all of what is there.
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

// spare releases leaves of c that would be removed although only a lock says
// that aisync made them, unless their content is in git's HEAD or, for a whole
// file, in a source or among the texts that aisync wrote on this machine. A
// lock comes with a clone, and its word alone must not cost a byte.
func (e *Engine) spare(r ReadEnv, c Change, in Input) {
	var head map[LeafKey]Fingerprint
	looked := false
	for i := range c.Leaves {
		l := &c.Leaves[i]
		if l.Last == nil || !l.Last.Claimed || l.Rel.Duplicate || l.Action != Delete && l.Action != PutBack {
			continue
		}
		if !looked {
			head, looked = e.atHead(r, c.Target), true
		}
		is := c.Before.Live[l.Key]
		if is != "" && head[l.Key] == is || l.Key == "" && (c.Target.Resource.Address.Kind() == "dir" || written(r, is) || fromSource(in.Declarations, is)) {
			continue // a folder is removed only while it is empty
		}
		l.Decision = Decision{Action: Release, Pending: true, Warn: true, Meaning: "only aisync.lock says that aisync made it, and git's HEAD does not hold it as it is: left to you"}
	}
}

// atHead returns the fingerprints of t at git's HEAD; none if that is unknown.
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

// written reports whether aisync wrote that content on this machine and still
// has it.
func written(r ReadEnv, f Fingerprint) bool {
	if r.Contents == nil {
		return false
	}
	_, ok := r.Contents(f)
	return ok
}

// fromSource reports whether the source of a declaration has, or had, that
// content.
func fromSource(decls []Declaration, f Fingerprint) bool {
	return slices.ContainsFunc(decls, func(d Declaration) bool {
		return slices.ContainsFunc(d.Leaves, func(l Leaf) bool {
			s, ok := l.Body.(Sourced)
			return ok && s.Held(f)
		})
	})
}
