package resource

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/reconcile/fsys"
)

// Places are the places of a machine with several addresses, because a project
// lies in the home, or a folder or a file is a link. The zero value has none.
type Places struct {
	same map[Address][]Address // all addresses of a place, the one that stands for them first
	path map[Address]string    // where addresses lie that differ in kind, or in case alone
}

// FindPlaces compares the places of the addresses' folders, links resolved and
// case folded. A folder that cannot be read is a separate place. A file that is
// a link lies where that leads to, if follows says that it may be written
// through and fsys.Follow agrees: that place's own address stands for it.
func FindPlaces(r fsys.Reader, home fsys.LogicalPath, addresses []Address, follows func(Address) bool) Places {
	linked := map[Address]bool{}
	real := map[Address]Address{} // of links
	for _, a := range addresses {
		if a.Kind() != "file" || linked[a] || !follows(a) {
			continue
		}
		p := a.Path(home)
		if to, err := fsys.Follow(r, home, p); err == nil && to != p {
			linked[a], real[a] = true, pathAddress(r, home, to)
		}
	}
	for _, to := range real {
		addresses = append(addresses[:len(addresses):len(addresses)], to)
	}
	at := map[string]string{} // folders, as addresses have them, and where they lie
	places := map[string]bool{}
	for _, a := range addresses {
		dir, _ := path.Split(a.Name())
		if _, known := at[dir]; known || !a.IsPath() {
			continue
		}
		where := "?" + dir
		if physical, err := r.Physical(a.Path(home)); err == nil {
			where = filepath.Dir(physical)
		}
		at[dir], places[strings.ToLower(where)] = where, true
	}
	var out Places
	if len(places) == len(at) && len(real) == 0 {
		return out
	}
	by := map[string]map[string][]Address{} // by path, case folded, and by kind and path
	for _, a := range addresses {
		if !a.IsPath() {
			continue
		}
		lies := a
		if linked[a] {
			lies = real[a]
		}
		dir, base := path.Split(lies.Name())
		where := filepath.Join(at[dir], base)
		folded := strings.ToLower(where)
		if by[folded] == nil {
			by[folded] = map[string][]Address{}
		}
		key := a.Kind() + ":" + where
		by[folded][key] = append(by[folded][key], a)
	}
	out = Places{map[Address][]Address{}, map[Address]string{}}
	for folded, groups := range by {
		for _, group := range groups {
			sort.Slice(group, func(i, j int) bool {
				a, b := group[i], group[j]
				if linked[a] != linked[b] {
					return linked[b]
				}
				return compareAddresses(a, b) < 0
			})
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

// pathAddress is the address of the file at p: that of the project for one in it.
func pathAddress(r fsys.Reader, home, p fsys.LogicalPath) Address {
	if p.Project() {
		return Address("file:" + string(p))
	}
	if at, err := r.Physical(p); err == nil {
		if project, err := r.Physical("."); err == nil {
			if rel, err := filepath.Rel(project, at); err == nil && filepath.IsLocal(rel) {
				return Address("file:" + filepath.ToSlash(rel))
			}
		}
	}
	if rel, ok := strings.CutPrefix(string(p), strings.TrimSuffix(string(home), "/")+"/"); ok {
		return Address("file:~/" + rel)
	}
	return Address("file:" + string(p))
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

// First is the address that stands for all of a's place.
func (p Places) First(a Address) Address {
	if group := p.same[a]; group != nil {
		return group[0]
	}
	return a
}

// Group returns all addresses of a's place, the one that stands for them first;
// nil where a is the only one.
func (p Places) Group(a Address) []Address { return p.same[a] }

// Compose makes one resource of those of one place, by the rules of Compose. It
// returns the resources, the conflicts that were found on the way, and for each
// place the address by which each owner asks for it.
func (p Places) Compose(resources []Resource) ([]Resource, []Conflict, map[Address]map[Owner]Address) {
	if p.same == nil {
		return resources, nil, nil
	}
	parts := map[Address][]Resource{}
	asked := map[Address]map[Owner]Address{}
	for _, r := range resources {
		r.DependsOn = slices.Clone(r.DependsOn)
		for i, d := range r.DependsOn {
			r.DependsOn[i] = p.First(d)
		}
		a := p.First(r.Address)
		if r.Leaves = slices.DeleteFunc(slices.Clone(r.Leaves), func(l Leaf) bool { return l.Unless != "" && p.First(l.Unless) == a }); len(r.Leaves) == 0 {
			continue
		}
		parts[a] = append(parts[a], r)
		if p.same[a] == nil {
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
			found[i].Reason += fmt.Sprintf(" (%s are one %s)", JoinAddresses(p.same[a]), a.Kind())
		}
		if at := p.path[a]; at != "" {
			if other, taken := paths[at]; taken {
				found = append(found, Conflict{
					Address: a, Other: other.Address, Reason: fmt.Sprintf("is the same path as %s", other.Address),
					Hint: "give one of them another name", Origin: slices.Concat(other.FirstOrigin(), r.FirstOrigin()),
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

// JoinAddresses names addresses, for a person.
func JoinAddresses(list []Address) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = string(a)
	}
	return strings.Join(words, " and ")
}
