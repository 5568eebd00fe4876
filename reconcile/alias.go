package reconcile

import (
	"slices"
	"sort"

	"aisync.dev/aisync/reconcile/resource"
)

// places are those of the resources, of strays, and of the records of owners,
// the host and the project at hand.
func (s *Store) places(r ReadEnv, resources []Resource, strays []Address, owners []Owner) resource.Places {
	all := slices.Clone(strays)
	for _, res := range resources {
		all = append(all, res.Address)
	}
	owners = append([]Owner{HostOwner, s.lockOwner}, owners...)
	slices.Sort(owners)
	for _, o := range slices.Compact(owners) {
		for _, rec := range s.Records(o) {
			all = append(all, rec.Address)
		}
	}
	whole := map[Address]bool{}
	for _, res := range resources {
		whole[res.Address] = slices.ContainsFunc(res.Leaves, func(l Leaf) bool { return l.Own == resource.Exclusive })
	}
	for _, o := range slices.Compact(owners) {
		for _, rec := range s.Records(o) {
			whole[rec.Address] = whole[rec.Address] || slices.ContainsFunc(rec.Leaves, func(l LeafRecord) bool { return l.Key == "" })
		}
	}
	for _, a := range strays {
		whole[a] = true
	}
	// A link in place of a shared file says where that lies. One in place of a
	// file that is all aisync's stands for another file, which must not be lost.
	return resource.FindPlaces(r.FS, r.Home, all, func(a Address) bool { return !whole[a] })
}

// Is reports whether a is t's address, or another address of its place.
func (t Target) Is(a Address) bool { return t.Resource.Address == a || slices.Contains(t.Aliases, a) }

// SameAs names the other addresses of t's place, for a person; "" if there are
// none.
func (t Target) SameAs() string {
	if len(t.Aliases) == 0 {
		return ""
	}
	return "the same as " + resource.JoinAddresses(t.Aliases)
}

// Match reports whether a --target or --exclude pattern matches t; see
// Address.Match.
func (t Target) Match(pattern string) bool {
	return t.Resource.Address.Match(pattern) || slices.ContainsFunc(t.Aliases, func(a Address) bool { return a.Match(pattern) })
}

// addressOf is the address by which o asks for t.
func (t Target) addressOf(o Owner) Address {
	if a, ok := t.asked[o]; ok {
		return a
	}
	return t.Resource.Address
}

// of returns every owner's record of t's place, under the address by which that
// owner asks for it.
func (s *Store) of(t Target) []Record {
	if len(t.Aliases) == 0 {
		return s.On(t.Resource.Address)
	}
	out := slices.Clone(s.On(t.Resource.Address))
	for _, a := range t.Aliases {
		for _, rec := range s.On(a) {
			i := slices.IndexFunc(out, func(x Record) bool { return x.Owner == rec.Owner })
			if i < 0 {
				out = append(out, rec)
				continue
			}
			out[i].Leaves = slices.Clone(out[i].Leaves)
			for _, l := range rec.Leaves {
				if out[i].Leaf(l.Key) == nil {
					out[i].Leaves = append(out[i].Leaves, l)
				}
			}
			leaves := out[i].Leaves
			sort.Slice(leaves, func(a, b int) bool { return compareKeys(leaves[a].Key, leaves[b].Key) < 0 })
		}
	}
	for i := range out {
		if a, ok := t.asked[out[i].Owner]; ok {
			out[i].Address = a
		}
	}
	return out
}
