package adapter

import (
	"maps"
	"slices"
	"testing"

	"aisync.dev/aisync/adapter/cover"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// With the runtimes of the catalog, whichever are in a list and whichever of them
// a rule or a skill is for, the choice is the best of all choices. Of those that are
// known from documentation alone, pairs are tried.
func TestCoverIsTheBestChoiceForTheRuntimesOfTheCatalog(t *testing.T) {
	known := tried()
	var lists [][]spec.Runtime
	for set := 1; set < 1<<len(known); set++ {
		var list []spec.Runtime
		for i, r := range known {
			if set&(1<<i) != 0 {
				list = append(list, r)
			}
		}
		lists = append(lists, list)
	}
	for i, r := range catalog.Runtimes() {
		for _, other := range catalog.Runtimes()[:i] {
			if r.Experimental || other.Experimental {
				lists = append(lists, []spec.Runtime{other, r})
			}
		}
	}
	cases := 0
	for _, list := range lists {
		for _, project := range []bool{false, true} {
			var places []place
			for _, r := range list {
				places = append(places, place{rt: r, scope: map[bool]spec.Scope{false: r.User, true: r.Project}[project]})
			}
			for only := -1; only < len(places) && (only < 0 || len(places) <= 4); only++ {
				rules, skills := map[string]int{}, map[string]int{}
				var readers, users []cover.Consumer
				for i, p := range places {
					wants := only < 0 || only == i
					readers, users = append(readers, func() cover.Consumer { s, _, _ := newBuilder("").alwaysConsumer(p, places, wants); return s }()), append(users, skillConsumer(p, wants))
					for place, price := range map[string]int{p.scope.Rules: priceFolder, p.scope.RulesBlock: priceBlock} {
						if place != "" && wants {
							rules[place] = price
						}
					}
					if p.scope.Skills != "" && wants {
						skills[p.scope.Skills] = 1
					}
				}
				cases++
				for _, c := range []struct {
					price     map[string]int
					consumers []cover.Consumer
				}{{rules, readers}, {skills, users}} {
					got, want := cover.Choose(c.price, c.consumers), bestOfAll(c.price, c.consumers)
					if cover.Cost(got, c.price, c.consumers) != cover.Cost(want, c.price, c.consumers) {
						t.Fatalf("among %q: %q, the best is %q", slices.Sorted(maps.Keys(c.price)), got, want)
					}
				}
			}
		}
	}
	if cases < len(lists) {
		t.Errorf("only %d cases", cases)
	}
}

// bestOfAll looks at every choice.
func bestOfAll(price map[string]int, consumers []cover.Consumer) (all []string) {
	for _, group := range cover.Groups(slices.Sorted(maps.Keys(price)), consumers) {
		var best []string
		for choice := range 1 << len(group) {
			var chosen []string
			for i, p := range group {
				if choice&(1<<i) != 0 {
					chosen = append(chosen, p)
				}
			}
			if choice == 0 || cover.Cost(chosen, price, consumers) < cover.Cost(best, price, consumers) {
				best = chosen
			}
		}
		all = append(all, best...)
	}
	return all
}

// tried are the runtimes of the catalog that are not known from documentation alone.
func tried() []spec.Runtime {
	return slices.DeleteFunc(catalog.Runtimes(), func(r spec.Runtime) bool { return r.Experimental })
}
