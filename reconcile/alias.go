package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// aliases are the places of a machine that several addresses lead to, because a
// project lies in the home or a folder is a link. The zero value knows of none.
type aliases struct {
	same map[Address][]Address // all addresses of a place, the one that stands for them first
	path map[Address]string    // where addresses lie that differ in kind, or in case alone
}

// aliases are those of what is asked for, of strays, and of what owners, the
// host and the project at hand have on record.
func (s *Store) aliases(r ReadEnv, resources []Resource, strays []Address, owners []Owner) aliases {
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
	return findAliases(r, all)
}

// findAliases compares where the folders of addresses lie, links resolved and
// case folded. A folder that cannot be looked at is a place of its own.
func findAliases(r ReadEnv, addresses []Address) aliases {
	at := map[string]string{} // folders, as addresses have them, and where they lie
	places := map[string]bool{}
	for _, a := range addresses {
		dir, _ := path.Split(a.Name())
		if _, known := at[dir]; known || !isPathKind(a.Kind()) {
			continue
		}
		where := "?" + dir
		if physical, err := r.FS.Physical(a.Path(r.Home)); err == nil {
			where = filepath.Dir(physical)
		}
		at[dir], places[strings.ToLower(where)] = where, true
	}
	var out aliases
	if len(places) == len(at) {
		return out
	}
	by := map[string]map[string][]Address{} // by path, case folded, and by kind and path
	for _, a := range addresses {
		if !isPathKind(a.Kind()) {
			continue
		}
		dir, base := path.Split(a.Name())
		where := filepath.Join(at[dir], base)
		folded := strings.ToLower(where)
		if by[folded] == nil {
			by[folded] = map[string][]Address{}
		}
		key := a.Kind() + ":" + where
		by[folded][key] = append(by[folded][key], a)
	}
	out = aliases{map[Address][]Address{}, map[Address]string{}}
	for folded, groups := range by {
		for _, group := range groups {
			slices.SortFunc(group, compareAddresses)
			group = slices.Compact(group)
			for _, a := range group {
				if len(group) > 1 {
					out.same[a] = group
				}
				if len(groups) > 1 {
					out.path[a] = folded
				}
			}
		}
	}
	return out
}

// compareAddresses puts those of the project first: git carries them, and what
// programs obey there is asked about.
func compareAddresses(a, b Address) int {
	if a.InProject() != b.InProject() {
		if a.InProject() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

// first is the address that stands for all of a's place.
func (al aliases) first(a Address) Address {
	if group := al.same[a]; group != nil {
		return group[0]
	}
	return a
}

// compose makes one resource of those of one place, by the rules of Compose. It
// returns the resources, the conflicts that were found on the way, and for each
// place the address by which each owner asks for it.
func (al aliases) compose(resources []Resource) ([]Resource, []Conflict, map[Address]map[Owner]Address) {
	if al.same == nil {
		return resources, nil, nil
	}
	parts := map[Address][]Resource{}
	asked := map[Address]map[Owner]Address{}
	for _, r := range resources {
		r.DependsOn = slices.Clone(r.DependsOn)
		for i, d := range r.DependsOn {
			r.DependsOn[i] = al.first(d)
		}
		a := al.first(r.Address)
		parts[a] = append(parts[a], r)
		if al.same[a] == nil {
			continue
		}
		if asked[a] == nil {
			asked[a] = map[Owner]Address{}
		}
		for _, l := range r.Leaves {
			for _, o := range l.Owners {
				if had, ok := asked[a][o]; !ok || compareAddresses(r.Address, had) < 0 {
					asked[a][o] = r.Address
				}
			}
		}
	}
	var out []Resource
	var conflicts []Conflict
	paths := map[string]Resource{}
	for _, a := range slices.Sorted(maps.Keys(parts)) {
		r, found := parts[a][0], []Conflict(nil)
		if len(parts[a]) > 1 {
			r, found = compose(a, parts[a])
		}
		r.Address = a
		for i := range found {
			found[i].Reason += fmt.Sprintf(" (%s are one %s)", joinAddresses(al.same[a]), a.Kind())
		}
		if at := al.path[a]; at != "" {
			if other, taken := paths[at]; taken {
				found = append(found, Conflict{
					Address: a, Other: other.Address, Reason: fmt.Sprintf("is the same path as %s", other.Address),
					Hint: "give one of them another name", Origin: slices.Concat(firstOrigin(other), firstOrigin(r)),
				})
			} else {
				paths[at] = r
			}
		}
		conflicts = append(conflicts, found...)
		out = append(out, r)
	}
	clashes := func(r Resource) bool {
		return slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.Address == r.Address || c.Other == r.Address })
	}
	return slices.DeleteFunc(out, clashes), conflicts, asked
}

func joinAddresses(list []Address) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = string(a)
	}
	return strings.Join(words, " and ")
}

// Is reports whether a is t's address, or another one of its place.
func (t Target) Is(a Address) bool { return t.Resource.Address == a || slices.Contains(t.Aliases, a) }

// SameAs names the other addresses of t's place, for a person; "" where there are none.
func (t Target) SameAs() string {
	if len(t.Aliases) == 0 {
		return ""
	}
	return "the same as " + joinAddresses(t.Aliases)
}

// Match reports whether a --target or --exclude pattern means t; see Address.Match.
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

// of returns what every owner has on record of t's place: one record an owner,
// under the address by which that owner asks for it.
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
