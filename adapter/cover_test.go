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
// a rule or a skill is for, the choice is the best of all choices.
func TestCoverIsTheBestChoiceForTheRuntimesOfTheCatalog(t *testing.T) {
	all := catalog.Runtimes()
	cases := 0
	for set := 1; set < 1<<len(all); set++ {
		for _, project := range []bool{false, true} {
			var places []place
			for i, r := range all {
				if set&(1<<i) != 0 {
					places = append(places, place{rt: r, scope: map[bool]spec.Scope{false: r.User, true: r.Project}[project]})
				}
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
	if cases < 1<<len(all) {
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
