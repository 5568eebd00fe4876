package adapter

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

func TestEveryRuntimeFindsItOnceIfThatCanBe(t *testing.T) {
	claude := consumer{wants: true, loads: []string{".claude", "block"}, best: ".claude"}
	codex := consumer{wants: true, loads: []string{"block"}}
	copilot := consumer{wants: true, loads: []string{".github", "block", ".claude"}, best: ".github"}
	opencode := consumer{wants: true, loads: []string{"block"}, told: ".opencode", best: ".opencode"}
	not := func(s consumer) consumer { s.wants = false; return s }
	tests := map[string]struct {
		consumers []consumer
		want      []string
	}{
		"none":                          {nil, nil},
		"its own form":                  {[]consumer{claude}, []string{".claude"}},
		"each its own":                  {[]consumer{claude, opencode}, []string{".claude", ".opencode"}},
		"one that both load":            {[]consumer{claude, copilot}, []string{".claude"}},
		"the common one for all":        {[]consumer{claude, codex, copilot, opencode}, []string{"block"}},
		"for one alone":                 {[]consumer{claude, not(codex), not(opencode)}, []string{".claude"}},
		"others see it, if they must":   {[]consumer{not(claude), codex}, []string{"block"}},
		"who is told only if it has to": {[]consumer{codex, opencode}, []string{"block"}},
		"nothing to load it from":       {[]consumer{{wants: true}}, nil},
	}
	places := map[string]int{".claude": 1, ".github": 1, ".opencode": 1, "block": 2}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cover(places, test.consumers); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			slices.Reverse(test.consumers)
			if got := cover(places, test.consumers); !slices.Equal(got, test.want) {
				t.Errorf("in another order: got %q, want %q", got, test.want)
			}
		})
	}
}

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
				var readers, users []consumer
				for i, p := range places {
					wants := only < 0 || only == i
					readers, users = append(readers, func() consumer { s, _, _ := newBuilder("").alwaysConsumer(p, places, wants); return s }()), append(users, skillConsumer(p, wants))
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
					consumers []consumer
				}{{rules, readers}, {skills, users}} {
					got, want := cover(c.price, c.consumers), bestOfAll(c.price, c.consumers)
					if costOf(got, c.price, c.consumers) != costOf(want, c.price, c.consumers) {
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

func costOf(chosen []string, price map[string]int, consumers []consumer) (sum int) {
	for _, p := range chosen {
		sum += price[p]
	}
	for _, s := range consumers {
		sum += s.cost(chosen)
	}
	return sum
}

// bestOfAll looks at every choice.
func bestOfAll(price map[string]int, consumers []consumer) (all []string) {
	for _, group := range separate(slices.Sorted(maps.Keys(price)), consumers) {
		var best []string
		for choice := range 1 << len(group) {
			var chosen []string
			for i, p := range group {
				if choice&(1<<i) != 0 {
					chosen = append(chosen, p)
				}
			}
			if choice == 0 || costOf(chosen, price, consumers) < costOf(best, price, consumers) {
				best = chosen
			}
		}
		all = append(all, best...)
	}
	return all
}

func TestCoverIsFastForManyRuntimes(t *testing.T) {
	places := map[string]int{}
	var consumers []consumer
	for i := range 60 {
		own := fmt.Sprintf("own%d", i)
		places[own] = 1
		consumers = append(consumers, consumer{wants: true, loads: []string{own}})
	}
	start := time.Now()
	if got := cover(places, consumers); len(got) != 60 {
		t.Errorf("%d places", len(got))
	}
	for i := range consumers { // all of them share one more, so that nothing can be told apart
		consumers[i].loads = append(consumers[i].loads, "common")
	}
	places["common"] = 1
	cover(places, consumers)
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
}
