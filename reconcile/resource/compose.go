package resource

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"aisync.dev/aisync/reconcile/fsys"
)

// Compose joins all declarations of each target. It is the only place where
// they meet: equal leaves collapse and keep every origin and owner; different
// ones are a Conflict with both places, and so is a target in git's folder, or
// with a name that records cannot hold. The resources are sorted by address,
// their leaves by key; a target in conflict is left out.
func Compose(decls []Declaration) ([]Resource, []Conflict) {
	byTarget := make(map[Address][]Resource, len(decls))
	for _, d := range decls {
		byTarget[d.Target] = append(byTarget[d.Target], d.resource())
	}
	resources := make([]Resource, 0, len(byTarget))
	var conflicts []Conflict
	for target, parts := range byTarget {
		r, found := compose(target, parts)
		if why, hint := refused(r); why != "" {
			found = []Conflict{r.conflict(why, hint)}
		}
		if len(found) > 0 {
			conflicts = append(conflicts, found...)
			continue
		}
		resources = append(resources, r)
	}
	sort.Slice(resources, func(i, j int) bool { return resources[i].Address < resources[j].Address })
	resources, clashes := sharedPaths(resources)
	conflicts = append(conflicts, clashes...)
	sort.SliceStable(conflicts, func(i, j int) bool {
		if conflicts[i].Address != conflicts[j].Address {
			return conflicts[i].Address < conflicts[j].Address
		}
		return conflicts[i].Key < conflicts[j].Key
	})
	return resources, conflicts
}

// refused returns why r must not be a target, and what to do; "" if it may be.
// Files in git's folder can make git run programs. Records, plans and locks are
// JSON, which cannot hold a name that is not UTF-8.
func refused(r Resource) (why, hint string) {
	notText := func(l Leaf) bool { return !utf8.ValidString(string(l.Key)) }
	switch i := slices.IndexFunc(r.Leaves, notText); {
	case r.Address.IsPath() && fsys.GitsOwn(r.Address.Name()):
		return "lies in git's own folder, which only git writes", "give it another folder"
	case !utf8.ValidString(string(r.Address)):
		return fmt.Sprintf("has a name that is not UTF-8: %q", r.Address.Name()), "rename the file where it comes from, or take it out of the spec"
	case i >= 0:
		return fmt.Sprintf("has an entry that is not UTF-8: %q", r.Leaves[i].Key), "save the text that it comes from as UTF-8"
	}
	return "", ""
}

// conflict is one about all of r.
func (r Resource) conflict(why, hint string) Conflict {
	c := Conflict{Address: r.Address, Reason: why, Hint: hint}
	for _, l := range r.Leaves {
		c.Origin = append(c.Origin, l.Origin...)
	}
	sort.Slice(c.Origin, func(i, j int) bool { return c.Origin[i].String() < c.Origin[j].String() })
	c.Origin = slices.Compact(c.Origin)
	return c
}

// resource is what d asks for.
func (d Declaration) resource() Resource {
	r := Resource{Address: d.Target, Format: d.Format, Leaves: make([]Leaf, len(d.Leaves)), DependsOn: d.DependsOn, Local: d.Local}
	owners := []Owner{d.Owner}
	for i, l := range d.Leaves {
		l.Owners = owners
		r.Leaves[i] = l
	}
	return r
}

// compose makes one resource of parts that ask something of one target. git
// carries it unless all that the project asks for there is local.
func compose(target Address, parts []Resource) (Resource, []Conflict) {
	r := Resource{Address: target, Local: true}
	leaves := map[LeafKey]Leaf{}
	var conflicts []Conflict
	clash := func(key LeafKey, reason, hint string, origins ...[]Position) {
		conflicts = append(conflicts, Conflict{Address: target, Key: key, Reason: reason, Hint: hint, Origin: slices.Concat(origins...)})
	}
	var formatOf []Position
	for _, p := range parts {
		r.Local = r.Local && (p.Local || p.Address.InProject() != target.InProject())
		r.DependsOn = append(r.DependsOn, p.DependsOn...)
		for _, l := range p.Leaves {
			if p.Format != "" && l.Own == Member {
				if r.Format != "" && r.Format != p.Format {
					clash(l.Key, fmt.Sprintf("declared as %s and as %s", r.Format, p.Format), "one file has one format", formatOf, l.Origin)
				}
				r.Format, formatOf = p.Format, l.Origin
			}
			had, ok := leaves[l.Key]
			switch {
			case !ok:
				l.Order = len(leaves)
				leaves[l.Key] = l
			case had.Body.Fingerprint() != l.Body.Fingerprint() || had.Own != l.Own:
				clash(l.Key, "declared twice, and not the same", "make them equal, or remove one", had.Origin, l.Origin)
			default:
				leaves[l.Key] = join(had, l)
			}
		}
	}
	for _, l := range leaves {
		r.Leaves = append(r.Leaves, l)
	}
	sort.Slice(r.Leaves, func(i, j int) bool { return r.Leaves[i].Key < r.Leaves[j].Key })
	slices.Sort(r.DependsOn)
	r.DependsOn = slices.Compact(r.DependsOn)
	if i := slices.IndexFunc(r.Leaves, func(l Leaf) bool { return l.Own == Exclusive }); i >= 0 && len(r.Leaves) > 1 {
		other := r.Leaves[(i+1)%len(r.Leaves)]
		clash(r.Leaves[i].Key, "declared as a whole, and in part", "only one place may own all of it", r.Leaves[i].Origin, other.Origin)
	}
	for i := 1; i < len(r.Leaves); i++ {
		for _, outer := range r.Leaves[:i] {
			if inner := r.Leaves[i]; outer.Own == Member && strings.HasPrefix(string(outer.Key), "/") && !strings.Contains(string(outer.Key), "#") &&
				strings.HasPrefix(string(inner.Key), string(outer.Key)) && strings.ContainsAny(string(inner.Key)[len(outer.Key):len(outer.Key)+1], "/#") {
				clash(inner.Key, fmt.Sprintf("lies inside %s, which is declared as one value", outer.Key), "declare the parts, or the whole", outer.Origin, inner.Origin)
			}
		}
	}
	return r, conflicts
}

// join adds the places and owners of b to a, which are equal otherwise.
func join(a, b Leaf) Leaf {
	a.Origin = slices.Clone(a.Origin)
	for _, p := range b.Origin {
		if !slices.Contains(a.Origin, p) {
			a.Origin = append(a.Origin, p)
		}
	}
	for _, o := range b.Owners {
		if !slices.Contains(a.Owners, o) {
			a.Owners = append(slices.Clone(a.Owners), o)
		}
	}
	if a.Source != b.Source {
		a.Source = ""
	}
	return a
}

// sharedPaths finds targets of different kinds or spelling that are one path
// on a file system that folds case, and files in the way of folders.
func sharedPaths(resources []Resource) ([]Resource, []Conflict) {
	seen := make(map[string]int, len(resources))
	bad := map[int]bool{}
	var conflicts []Conflict
	clash := func(i, j int, reason string) {
		bad[i], bad[j] = true, true
		conflicts = append(conflicts, Conflict{
			Address: resources[j].Address,
			Other:   resources[i].Address,
			Reason:  fmt.Sprintf("%s %s", reason, resources[i].Address),
			Hint:    "give one of them another name",
			Origin:  slices.Concat(resources[i].FirstOrigin(), resources[j].FirstOrigin()),
		})
	}
	for i, r := range resources {
		if !r.Address.IsPath() {
			continue
		}
		key := pathKey(r.Address)
		if j, ok := seen[key]; ok {
			clash(j, i, "is the same path as")
			continue
		}
		seen[key] = i
	}
	for i, r := range resources {
		if !r.Address.IsPath() {
			continue
		}
		for dir := path.Dir(pathKey(r.Address)); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if j, ok := seen[dir]; ok && resources[j].Address.Kind() != "dir" {
				clash(j, i, "lies inside")
			}
		}
	}
	if len(bad) == 0 {
		return resources, nil
	}
	kept := resources[:0:0]
	for i, r := range resources {
		if !bad[i] {
			kept = append(kept, r)
		}
	}
	return kept, conflicts
}

func pathKey(a Address) string { return strings.ToLower(path.Clean(a.Name())) }

// FirstOrigin returns the first place that asks for r; nil where none is known.
func (r Resource) FirstOrigin() []Position {
	for _, l := range r.Leaves {
		if len(l.Origin) > 0 {
			return l.Origin[:1]
		}
	}
	return nil
}
