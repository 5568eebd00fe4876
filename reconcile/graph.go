package reconcile

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// CycleError says that resources wait for each other.
type CycleError struct{ Path []Address }

func (e *CycleError) Error() string {
	names := make([]string, len(e.Path))
	for i, a := range e.Path {
		names[i] = string(a)
	}
	return "dependency cycle: " + strings.Join(names, " → ") + "; remove one of these dependencies"
}

// order checks that dependencies form no cycle and returns, for every index of
// changes, the indexes it waits for. Making runs after what it depends on;
// taking away runs before it.
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

// dependsOn is what c's resource depends on: what it says, and the nearest
// folder above it that is a resource too.
func (c Change) dependsOn(index map[Address]int) []Address {
	a, on := c.Target.Resource.Address, c.Target.Resource.DependsOn
	if !isPathKind(a.Kind()) {
		return on
	}
	for dir := path.Dir(a.Name()); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if d := Address("dir:" + dir); hasKey(index, d) && !slices.Contains(on, d) {
			return append(slices.Clone(on), d)
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
