package loads

import (
	"slices"
	"strings"
)

// Compare returns what a program has before and not after, and the reverse: the
// law of delivery asks for nothing of either where another program joins a
// project. Items are the same by kind, name, content and when they are taken;
// texts, notes or rules, by content and when. Where they come from, and their
// order, counts for nothing. An item of which there are more copies after has
// come, with their number; one of which there are fewer is gone.
func Compare(before, after Result) (gone, come []Item) {
	return without(before.Items, after.Items), without(after.Items, before.Items)
}

// without returns the items of a that b has less of, with the difference.
func without(a, b []Item) []Item {
	have := map[string]Item{}
	for _, i := range b {
		sum := have[identity(i)]
		sum.Start, sum.Total = sum.Start+i.Start, sum.Total+i.Total
		have[identity(i)] = sum
	}
	var out []Item
	for _, i := range a {
		other, there := have[identity(i)]
		if there && other.Start >= i.Start && other.Total >= i.Total {
			continue
		}
		i.Start, i.Total = max(0, i.Start-other.Start), max(0, i.Total-other.Total)
		out = append(out, i)
	}
	return out
}

// identity is what makes an item the same in another tree.
func identity(i Item) string {
	kind, name := string(i.Kind), i.Name
	if i.Kind == Note || i.Kind == Rule {
		kind, name = "text", ""
	}
	paths := slices.Clone(i.Paths)
	slices.Sort(paths)
	return strings.Join([]string{kind, name, i.Digest, string(i.When), strings.Join(paths, "\n")}, "\x00")
}
