package effects

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"aisync.dev/aisync/reconcile"
)

// Answers is what a person agreed to.
type Answers interface {
	// Agreed reports whether the person agreed to digest on behalf of o.
	Agreed(o reconcile.Owner, digest string) bool
	// AgreedAny reports whether the person agreed to anything on behalf of o.
	AgreedAny(o reconcile.Owner) bool
}

// SourceDigest stands for agreement to everything that a pinned source brings,
// in every project of this host.
func SourceDigest(source string) string {
	sum := sha256.Sum256([]byte("source 1\x00" + source))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Undecided returns the effects of list that need an answer. trusted are the
// pinned sources that the host's spec trusts.
func Undecided(list []Effect, owner reconcile.Owner, a Answers, trusted []string) []Effect {
	var out []Effect
	for _, e := range list {
		switch {
		case a.Agreed(owner, e.Digest):
		case e.local && a.AgreedAny(owner): // answers that the person gave to the program itself since
		case e.source != "" && (slices.Contains(trusted, e.source) || a.Agreed(reconcile.HostOwner, SourceDigest(e.source))):
		default:
			out = append(out, e)
		}
	}
	return out
}

// Sources returns the pinned sources that whole effects of list come from.
func Sources(list []Effect) []string {
	var out []string
	for _, e := range list {
		if e.source != "" && !slices.Contains(out, e.source) {
			out = append(out, e.source)
		}
	}
	return out
}

// Waits begins the reason of what Hold holds.
const Waits = "waits for your yes"

// Hold returns why a leaf of a plan must not be written while the effects of
// undecided need an answer. It holds the leaves that cause them, the files that
// they name, and the settings that make a program obey them.
func Hold(all, undecided []Effect) func(reconcile.Address, reconcile.LeafKey) string {
	held := slices.Clone(undecided)
	for _, e := range all {
		if e.Class == Trusts && slices.ContainsFunc(undecided, func(u Effect) bool { return u.Program == e.Program }) {
			held = append(held, e)
		}
	}
	return func(a reconcile.Address, key reconcile.LeafKey) string {
		name := a.Name()
		for _, e := range held {
			switch {
			case a.InProject() && name == e.File && touches(e, key),
				a.InProject() && slices.Contains(e.named, name),
				slices.Contains(e.asks, a) && (!e.entry || string(key) == e.Key):
				return Waits + ": " + e.Program + " " + e.Text
			}
		}
		return ""
	}
}
