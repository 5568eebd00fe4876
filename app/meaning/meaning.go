// Package meaning says in words what a change of a plan does. Call Of.
package meaning

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

// Of returns what c does, in words. For a file that others write to as well
// it counts our entries, so that a change of an entry never reads as one of the
// whole file.
func Of(c reconcile.Change) string {
	entries := 0
	for _, l := range c.Leaves {
		if l.Key == "" || l.Key == reconcile.Seed {
			return c.Meaning()
		}
		entries++
	}
	if c.Before.Presence != reconcile.Present {
		return c.Meaning()
	}
	var groups []entryGroup
	for _, action := range []reconcile.Action{reconcile.Unclear, reconcile.Clash, reconcile.Update, reconcile.PutBack, reconcile.Create, reconcile.Delete, reconcile.Accept, reconcile.Release} {
		for _, l := range c.Leaves {
			if l.Action != action || l.Meaning == "" {
				continue
			}
			i := slices.IndexFunc(groups, func(g entryGroup) bool { return g.action == action && g.words == l.Meaning })
			if i < 0 {
				groups = append(groups, entryGroup{action: action, words: l.Meaning, drift: l.Drift})
				i = len(groups) - 1
			}
			groups[i].n++
		}
	}
	ours := slices.ContainsFunc(c.Leaves, func(l reconcile.LeafChange) bool { return l.Last != nil })
	var out []string
	for _, g := range groups {
		out = append(out, g.meaning(entries, ours))
	}
	if len(out) > 3 {
		out = append(out[:3], "…")
	}
	if same := c.Target.SameAs(); same != "" && len(out) > 0 {
		out = append(out, same)
	}
	return strings.Join(out, "; ")
}

// entryGroup is the entries of one file to which the same happens.
type entryGroup struct {
	action reconcile.Action
	words  string
	drift  bool
	n      int
}

// meaning returns the words for g among all our entries; ours tells whether any
// was there before.
func (g entryGroup) meaning(all int, ours bool) string {
	switch {
	case g.action == reconcile.Create && g.drift:
		return fmt.Sprintf("%s gone since the last apply", entriesAre(g.n, all))
	case g.action == reconcile.Create && ours:
		return quantity.Count(g.n, "new entry")
	case g.action == reconcile.Create:
		return "added to yours"
	case g.action == reconcile.Accept && !g.drift && g.n < all:
		return fmt.Sprintf("%s there already", entriesAre(g.n, all))
	case g.n == all:
		return g.words
	}
	return fmt.Sprintf("%d of %s: %s", g.n, quantity.Count(all, "entry"), g.words)
}

func entriesAre(n, all int) string {
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%d of %s %s", n, quantity.Count(all, "entry"), verb)
}
