package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

var (
	_ reconcile.Locator   = Provider{}
	_ reconcile.Historian = Provider{}
)

// Where implements reconcile.Locator. For each leaf of c that drifted or conflicts, it returns the first differing
// line of a whole text, or the line of a member or of the nearest value above it.
func (Provider) Where(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Place {
	a := c.Target.Resource.Address
	var leaves []reconcile.LeafChange
	for _, l := range c.Leaves {
		if l.Drift || l.Action == reconcile.Clash {
			leaves = append(leaves, l)
		}
	}
	if len(leaves) == 0 || c.Target.Stray { // a stray is wrong as a whole
		return nil
	}
	s := asCommitted(r, a, see(r, c.Target, true))
	var out []reconcile.Place
	for _, l := range leaves {
		p := reconcile.Place{Key: l.Key}
		switch {
		case s.presence == reconcile.Absent:
			p.Text = "gone"
		case s.presence != reconcile.Present:
			p.Text = s.reason
		case l.Key == "" || l.Key == reconcile.Seed:
			p.Line, p.Text = differs(r, a, l, s)
		default:
			p.Line, p.Text = memberPlace(c.Target, l, s)
		}
		out = append(out, p)
	}
	return out
}

// differs is the first line of s that differs from the record or the spec.
func differs(r reconcile.ReadEnv, a reconcile.Address, l reconcile.LeafChange, s seen) (int, string) {
	base, ok := baseOf(r, a, l)
	switch {
	case !ok:
		return 1, "is not what was recorded"
	case merge.IsBinary(s.doc) || merge.IsBinary(base):
		return 1, fmt.Sprintf("binary, %d bytes, was %d bytes", len(s.doc), len(base))
	}
	line := merge.DiffLines(base, s.doc)
	if line == 0 {
		if s.exec {
			return 1, "became executable"
		}
		return 1, "is no longer executable"
	}
	is, was := lineAt(s.doc, line), lineAt(base, line)
	shown := secret.MaskLines([]string{is, was})
	if is == was {
		return line, "lines after this one are gone"
	}
	return line, fmt.Sprintf("is %q, was %q", shown[0], shown[1])
}

// baseOf is the text that l is compared with: the recorded one, from this
// machine's backups or the commit of the lock, otherwise the wanted one.
func baseOf(r reconcile.ReadEnv, a reconcile.Address, l reconcile.LeafChange) ([]byte, bool) {
	if l.Last != nil && r.Contents != nil {
		if b, ok := r.Contents(l.Last.Live); ok {
			return b, true
		}
	}
	if l.Last != nil && r.Committed != nil && a.InProject() {
		digest, _, _ := strings.Cut(string(l.Last.Live), "+")
		if b, ok := r.Committed(a.Path(r.Home)); ok && fsys.Digest(b) == digest {
			return b, true
		}
	}
	if l.Want == nil || l.Last != nil && !l.Rel.WantLast {
		return nil, false
	}
	body, ok := l.Want.Body.(content)
	if !ok {
		return nil, false
	}
	b, err := body.bytes()
	return b, err == nil
}

func lineAt(doc []byte, n int) string {
	lines := strings.Split(string(doc), "\n")
	if n > len(lines) {
		return ""
	}
	return strings.TrimSuffix(lines[n-1], "\r")
}

// memberPlace is the line of l, or the one where it belongs.
func memberPlace(t reconcile.Target, l reconcile.LeafChange, s seen) (int, string) {
	leaves, err := readLeaves(t, s.doc, []reconcile.LeafKey{l.Key})
	if err != nil {
		return errorLine(err), err.Error()
	}
	leaf, ok := leaves[l.Key]
	if !ok {
		return parentLine(t, l.Key, s), label(l.Key) + " is gone"
	}
	if _, isBlock := blockText(l.Key, leaf.Value); isBlock || l.Want == nil || holdsSecret(l) {
		return leaf.Line, label(l.Key) + " is not as it was recorded"
	}
	return leaf.Line, changed(l, ownPart(t, l.Key, leaf.Value), wanted(l))[0].Text
}

// parentLine is the line of the nearest value above key.
func parentLine(t reconcile.Target, key reconcile.LeafKey, s seen) int {
	pointer, _, isMember := strings.Cut(string(key), "#")
	for strings.HasPrefix(pointer, "/") {
		if !isMember {
			pointer = pointer[:strings.LastIndexByte(pointer, '/')]
		}
		isMember = false
		if pointer == "" {
			break
		}
		leaves, err := readLeaves(t, s.doc, []reconcile.LeafKey{reconcile.LeafKey(pointer)})
		if l, ok := leaves[reconcile.LeafKey(pointer)]; err == nil && ok {
			return l.Line
		}
	}
	return 1
}

// errorLine is the line that an error of package merge names.
func errorLine(err error) int {
	var at *merge.Error
	if errors.As(err, &at) && at.Line > 0 {
		return at.Line
	}
	return 1
}
