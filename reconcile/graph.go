package reconcile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
)

// CycleError means that resources depend on each other.
type CycleError struct{ Path []Address }

func (e *CycleError) Error() string {
	names := make([]string, len(e.Path))
	for i, a := range e.Path {
		names[i] = string(a)
	}
	return "dependency cycle: " + strings.Join(names, " → ") + "; remove one of these dependencies"
}

// order checks that dependencies form no cycle and returns, for every index of
// changes, the indexes it waits for. Creation runs after its dependencies;
// removal runs before them.
func order(changes []Change) ([][]int, error) {
	index := make(map[Address]int, len(changes))
	for i, c := range changes {
		index[c.Target.Resource.Address] = i
	}
	waits := make([][]int, len(changes))
	for i, c := range changes {
		for _, d := range c.dependsOn(index) {
			j, ok := index[d]
			switch {
			case !ok || j == i:
			case c.removes():
				waits[j] = append(waits[j], i)
			default:
				waits[i] = append(waits[i], j)
			}
		}
	}
	return waits, acyclic(changes, waits)
}

// dependsOn is the dependencies of c's resource: the declared ones, and the
// nearest folder above it that is a resource too.
func (c Change) dependsOn(index map[Address]int) []Address {
	a, on := c.Target.Resource.Address, c.Target.Resource.DependsOn
	if !a.IsPath() {
		return on
	}
	for _, a := range append([]Address{a}, c.Target.Aliases...) {
		for dir := path.Dir(a.Name()); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if d := Address("dir:" + dir); hasKey(index, d) && !slices.Contains(on, d) {
				return append(slices.Clone(on), d)
			}
		}
	}
	return on
}

func hasKey(index map[Address]int, a Address) bool { _, ok := index[a]; return ok }

func acyclic(changes []Change, waits [][]int) error {
	const fresh, open, done = 0, 1, 2
	state := make([]int, len(changes))
	var trail []int
	var visit func(i int) error
	visit = func(i int) error {
		state[i] = open
		trail = append(trail, i)
		for _, j := range waits[i] {
			switch state[j] {
			case open:
				e := &CycleError{}
				for _, k := range trail[slices.Index(trail, j):] {
					e.Path = append(e.Path, changes[k].Target.Resource.Address)
				}
				e.Path = append(e.Path, changes[j].Target.Resource.Address)
				return e
			case fresh:
				if err := visit(j); err != nil {
					return err
				}
			}
		}
		trail = trail[:len(trail)-1]
		state[i] = done
		return nil
	}
	for i := range changes {
		if state[i] == fresh {
			if err := visit(i); err != nil {
				return fmt.Errorf("plan: %w", err)
			}
		}
	}
	return nil
}

// removes reports whether the target as a whole is no longer wanted.
func (c Change) removes() bool { return len(c.Target.Resource.Leaves) == 0 }

// narrow keeps what targets match and its dependencies, and drops what excludes
// match and its dependents; for removals, the other way round. A pattern
// without a match is an error: it would silently do nothing.
func (p *Plan) narrow(targets, excludes []string) error {
	if len(targets)+len(excludes) == 0 {
		return nil
	}
	index := map[Address]int{}
	for i, c := range p.Changes {
		index[c.Target.Resource.Address] = i
	}
	needs := make([][]int, len(p.Changes)) // what must also be done if i is
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
			if c.Target.Match(pattern) {
				hit = true
				pull(i)
			}
		}
		if !hit && !p.names(pattern) {
			return advice.NoTarget(pattern)
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
			if c.Target.Match(pattern) {
				hit = true
				keep[i] = false
			}
		}
		if !hit && !p.names(pattern) {
			return advice.NoExclude(pattern)
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

// names reports whether pattern matches something without a separate change.
func (p *Plan) names(pattern string) bool {
	return slices.ContainsFunc(p.Unsupported, func(u Unsupported) bool { return u.Address.Match(pattern) }) ||
		slices.ContainsFunc(p.Conflicts, func(c Conflict) bool { return c.Address.Match(pattern) })
}
