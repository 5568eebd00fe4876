package reconcile

import (
	"fmt"
	"slices"
)

// narrow keeps what targets name and what that depends on, and drops what
// excludes name and what depends on that; of what is taken away, the other way
// round. A pattern that names nothing is an
// error: it would silently do nothing.
func (p *Plan) narrow(targets, excludes []string) error {
	if len(targets)+len(excludes) == 0 {
		return nil
	}
	index := map[Address]int{}
	for i, c := range p.Changes {
		index[c.Target.Resource.Address] = i
	}
	needs := make([][]int, len(p.Changes)) // what cannot be left out where i is done
	for i, c := range p.Changes {
		for _, d := range c.Target.Resource.DependsOn {
			switch j, ok := index[d]; {
			case !ok:
			case !c.removes():
				needs[i] = append(needs[i], j)
			case p.Changes[j].removes():
				needs[j] = append(needs[j], i)
			}
		}
	}
	keep := make([]bool, len(p.Changes))
	var pull func(i int)
	pull = func(i int) {
		if keep[i] {
			return
		}
		keep[i] = true
		for _, j := range needs[i] {
			pull(j)
		}
	}
	for _, pattern := range targets {
		hit := false
		for i, c := range p.Changes {
			if c.Target.Resource.Address.Match(pattern) {
				hit = true
				pull(i)
			}
		}
		if !hit && !p.names(pattern) {
			return fmt.Errorf("--target %s: names nothing in this plan; run aisync status to see the addresses", pattern)
		}
	}
	if len(targets) == 0 {
		for i := range keep {
			keep[i] = true
		}
	}
	for _, pattern := range excludes {
		hit := false
		for i, c := range p.Changes {
			if c.Target.Resource.Address.Match(pattern) {
				hit = true
				keep[i] = false
			}
		}
		if !hit && !p.names(pattern) {
			return fmt.Errorf("--exclude %s: names nothing in this plan; run aisync status to see the addresses", pattern)
		}
	}
	for again := len(excludes) > 0; again; {
		again = false
		for i := range p.Changes {
			lost := slices.ContainsFunc(needs[i], func(j int) bool { return !keep[j] })
			if keep[i] && lost {
				keep[i], again = false, true
			}
		}
	}
	kept := p.Changes[:0:0]
	for i, c := range p.Changes {
		if keep[i] {
			kept = append(kept, c)
		}
	}
	p.Changes = kept
	named := func(a Address) bool {
		match := func(pattern string) bool { return a.Match(pattern) }
		return (len(targets) == 0 || slices.ContainsFunc(targets, match)) && !slices.ContainsFunc(excludes, match)
	}
	p.Unsupported = slices.DeleteFunc(p.Unsupported, func(u Unsupported) bool { return !named(u.Address) })
	p.Conflicts = slices.DeleteFunc(p.Conflicts, func(c Conflict) bool { return !named(c.Address) })
	return nil
}

// names reports whether pattern means something that has no change of its own.
func (p *Plan) names(pattern string) bool {
	return slices.ContainsFunc(p.Unsupported, func(u Unsupported) bool { return u.Address.Match(pattern) }) ||
		slices.ContainsFunc(p.Conflicts, func(c Conflict) bool { return c.Address.Match(pattern) })
}
