package file

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

var _ reconcile.Merger = Provider{}

// CanMerge implements reconcile.Merger: for whole texts whose common base is known.
func (Provider) CanMerge(_ context.Context, r reconcile.ReadEnv, c reconcile.Change, l reconcile.LeafChange) (clean, marked bool) {
	a := c.Target.Resource.Address
	if l.Key != "" || l.Want == nil {
		return false, false
	}
	s := look(r, a, true)
	base, theirs, ok := ends(r, a, l, s)
	if !ok {
		return false, false
	}
	_, clean = merge.Merge3(base, s.doc, theirs)
	return clean, !clean
}

// ends returns the base of a merge of s, and what the spec wants.
func ends(r reconcile.ReadEnv, a reconcile.Address, l reconcile.LeafChange, s seen) (base, theirs []byte, ok bool) {
	if l.Want == nil || s.presence != reconcile.Present {
		return nil, nil, false
	}
	body, isContent := l.Want.Body.(content)
	if !isContent {
		return nil, nil, false
	}
	theirs, err := body.bytes()
	if err != nil || merge.IsBinary(s.doc) || merge.IsBinary(theirs) {
		return nil, nil, false
	}
	if l.Last == nil {
		base, ok = nearest(earlier(l.Want), s.doc)
	} else {
		base, ok = wasWanted(r, a, l)
	}
	if bytes.Contains(s.doc, []byte("\r\n")) && !bytes.Contains(base, []byte("\r\n")) {
		base, theirs = windows(base), windows(theirs) // else every line would differ
	}
	return base, theirs, ok && !merge.IsBinary(base)
}

// wasWanted is what the spec wanted when l was recorded: from the records, the
// project's commits, or the history of its source.
func wasWanted(r reconcile.ReadEnv, a reconcile.Address, l reconcile.LeafChange) ([]byte, bool) {
	if r.Contents != nil {
		if b, ok := r.Contents(l.Last.Wanted()); ok {
			return b, true
		}
	}
	digest, _, _ := strings.Cut(string(l.Last.Wanted()), "+")
	known := earlier(l.Want)
	if r.Committed != nil && a.InProject() {
		if b, ok := r.Committed(a.Path(r.Home)); ok {
			known = append([][]byte{b, unix(b)}, known...)
		}
	}
	for _, b := range known {
		if fsys.Digest(b) == digest {
			return b, true
		}
	}
	return nil, false
}

// earlier returns the earlier versions of l's source, newest first.
func earlier(l *reconcile.Leaf) [][]byte {
	if s, ok := l.Body.(sourceBody); ok {
		return s.earlier()
	}
	return nil
}

// merged merges s and theirs where that is asked for, or where the record
// itself is such a merge: its edits are still the user's. It returns nil if
// theirs alone counts. clean is false if conflict markers are left.
func merged(r reconcile.ReadEnv, a reconcile.Address, l reconcile.LeafChange, s seen) (doc []byte, clean bool) {
	again := l.Last != nil && l.Last.Want != "" && !l.Last.Marked && l.Rel.LiveLast && l.Action == reconcile.Update
	if !l.MergeBoth && !again {
		return nil, false
	}
	base, wants, ok := ends(r, a, l, s)
	if !ok {
		return nil, false
	}
	if doc, clean = merge.Merge3(base, s.doc, wants); clean || !l.MergeBoth {
		return doc, clean
	}
	return merge.Merge3Marked(base, s.doc, wants), false
}

// isMarked reports whether a merge left conflict markers in t.
func isMarked(t reconcile.Target) bool {
	return slices.ContainsFunc(t.Last, func(l reconcile.LeafRecord) bool { return l.Marked })
}

// isFormer reports whether an unrecorded file equals an earlier version of its
// wanted source, line ends apart, which git may have changed: then it was not
// edited.
func isFormer(r reconcile.ReadEnv, t reconcile.Target, s seen) bool {
	if len(t.Last) > 0 || len(t.Resource.Leaves) != 1 {
		return false
	}
	want := &t.Resource.Leaves[0]
	if body, ok := want.Body.(sourceBody); !ok || body.past == nil || body.Fingerprint() == s.token() {
		return false
	}
	if s.doc == nil {
		s = look(r, t.Resource.Address, true)
	}
	is := unix(s.doc)
	return slices.ContainsFunc(earlier(want), func(b []byte) bool { return bytes.Equal(unix(b), is) })
}

// isCopy reports whether the present regular file has the text of a source
// elsewhere or, with former, one that it had earlier. An empty file does not
// count.
func isCopy(r reconcile.ReadEnv, t reconcile.Target, s seen, former bool) bool {
	if len(t.Resource.Leaves) != 1 {
		return false
	}
	body, ok := t.Resource.Leaves[0].Body.(sourceBody)
	if !ok || !body.elsewhere || s.via != "" || !former && body.Fingerprint() != s.token() || s.digest == fsys.Digest(nil) {
		return false
	}
	info, err := r.FS.Lstat(t.Resource.Address.Path(r.Home))
	return err == nil && info.Mode().IsRegular()
}

// nearest returns the one of versions, newest first, from which doc differs
// least; of several, the oldest, so that a change of the bundle since then is
// seen to meet the edit. There is none if doc shares less than half of its
// lines with each.
func nearest(versions [][]byte, doc []byte) ([]byte, bool) {
	var best []byte
	most := 0
	lines := map[string]int{}
	for line := range bytes.Lines(unix(doc)) {
		lines[string(line)]++
	}
	for _, v := range versions {
		common, all := 0, 0
		left := map[string]int{}
		for line := range bytes.Lines(unix(v)) {
			if all++; left[string(line)] < lines[string(line)] {
				left[string(line)]++
				common++
			}
		}
		if score := 3*common - all; 2*common >= min(all, bytes.Count(doc, []byte("\n"))) && common > 0 && (best == nil || score >= most) {
			best, most = v, score
		}
	}
	return best, best != nil
}

func windows(b []byte) []byte { return bytes.ReplaceAll(unix(b), []byte("\n"), []byte("\r\n")) }

func unix(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
