package reconcile

import "strings"

// mayTakeOver fills in what Choice.TakeOver needs to know of l: whether a source
// has, or had, what is there, and whether l is a duplicate. Asking a source for
// its history is slow, so that only this choice does it.
func (in Input) mayTakeOver(t Target, o Observation, l *LeafChange) {
	if !in.Choice.TakeOver || l.Key != "" || !l.Rel.Live {
		return
	}
	if len(t.Resource.Leaves) == 0 {
		like, is := in.Duplicates[t.Resource.Address]
		digest, _, _ := strings.Cut(string(o.Live[""]), "+") // executable or not
		l.Rel.Duplicate = is && string(like) == digest
		l.Rel.Stray = l.Rel.Stray && !is // one that is no longer like that stays
		return
	}
	if l.Want == nil {
		return
	}
	source, ok := l.Want.Body.(Sourced)
	if !ok {
		return
	}
	l.Rel.Held = source.Held(o.Live[""])
	if l.Last != nil && l.Last.Prior != "" {
		l.Rel.HeldPrior = source.Held(Fingerprint(l.Last.Prior))
	}
}
