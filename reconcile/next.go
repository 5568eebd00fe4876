package reconcile

import "slices"

// next is what is recorded of c's target once c is done, one record for each
// of owners that has anything left there.
func next(c Change, records []Record, owners []Owner) []Record {
	var out []Record
	for _, o := range owners {
		had := Record{}
		if i := slices.IndexFunc(records, func(r Record) bool { return r.Owner == o }); i >= 0 {
			had = records[i]
		}
		res := c.Target.Resource
		rec := Record{Address: res.Address, Owner: o, Format: res.Format, Local: res.Local, Inputs: c.Before.Inputs, DependsOn: res.DependsOn, Private: c.Target.Private}
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
