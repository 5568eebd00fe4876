package file

import (
	"context"

	"aisync.dev/aisync/providers/merge"
	"aisync.dev/aisync/reconcile"
)

var _ reconcile.Merger = Provider{}

// CanMerge implements reconcile.Merger: for whole texts whose last content is
// still known, where the edit and the spec changed different lines.
func (Provider) CanMerge(_ context.Context, r reconcile.ReadEnv, c reconcile.Change, l reconcile.LeafChange) bool {
	if l.Key != "" || l.Want == nil || l.Last == nil {
		return false
	}
	body, isContent := l.Want.Body.(content)
	if !isContent {
		return false
	}
	a := c.Target.Resource.Address
	s := look(r.FS, a.Path(r.Home), a.Name(), true)
	if s.presence != reconcile.Present {
		return false
	}
	theirs, err := body.bytes()
	if err != nil {
		return false
	}
	_, ok := threeway(r, l, s, theirs)
	return ok
}

// merged brings s and theirs together where that is asked for, or where the
// spec moves on from what was itself such a merge: those edits are still the
// user's. ok is false where theirs shall stand alone.
func merged(r reconcile.ReadEnv, l reconcile.LeafChange, s seen, theirs []byte) ([]byte, bool, error) {
	again := l.Last != nil && l.Last.Want != "" && l.Rel.LiveLast && l.Action == reconcile.Update
	if !l.MergeBoth && !again || s.presence != reconcile.Present {
		return nil, false, nil
	}
	both, ok := threeway(r, l, s, theirs)
	return both, ok, nil
}

// threeway merges on the base of what the spec wanted when l was recorded.
func threeway(r reconcile.ReadEnv, l reconcile.LeafChange, s seen, theirs []byte) ([]byte, bool) {
	if r.Contents == nil {
		return nil, false
	}
	base, ok := r.Contents(l.Last.Wanted())
	if !ok || merge.IsBinary(s.doc) || merge.IsBinary(theirs) {
		return nil, false
	}
	return merge.Merge3(base, s.doc, theirs)
}
