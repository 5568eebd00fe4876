// Package cover chooses the fewest places in which programs find a rule or a
// skill, each of them once. It is pure. Call Choose.
package cover

import (
	"maps"
	"slices"
)

// Consumer is one runtime of a group that shares the places of rules or skills.
type Consumer struct {
	Wants bool     // it must find the rule or skill
	Loads []string // places from which it loads everything
	Told  string   // a further place, which it loads when told to; "" none
	Best  string   // the place with its native form; "" if every form suits
	Once  bool     // it loads an item found in two places only once
}

// Finds returns the places among chosen from which s loads.
func (s Consumer) Finds(chosen []string) []string {
	var out []string
	for _, c := range chosen {
		if slices.Contains(s.Loads, c) {
			out = append(out, c)
		}
	}
	if len(out) == 0 && s.Wants && slices.Contains(chosen, s.Told) {
		out = append(out, s.Told)
	}
	return out
}

// The faults of a choice, the worst first: a runtime finds nothing, finds it
// twice, another one finds it wrongly, it finds a form that is not its own, a
// place is unnecessary.
const (
	costNothing = 1_000_000
	costTwice   = 1_000
	costOthers  = 100
	costForm    = 10
)

func (s Consumer) cost(chosen []string) int {
	found := s.Finds(chosen)
	switch {
	case !s.Wants:
		return costOthers * len(found)
	case len(found) == 0:
		if len(s.Loads) == 0 && s.Told == "" {
			return 0
		}
		return costNothing
	case len(found) > 1 && !s.Once:
		return costTwice * (len(found) - 1)
	case s.Best != "" && !slices.Contains(found, s.Best):
		return costForm
	}
	return 0
}

// Choose returns the places, sorted, from which every runtime that wants an item
// finds it, if possible just once. places holds the cost of each place. The
// choice does not depend on the order of consumers.
func Choose(places map[string]int, consumers []Consumer) []string {
	var all []string
	for _, group := range Groups(slices.Sorted(maps.Keys(places)), consumers) {
		all = append(all, cheapest(group, places, consumers)...)
	}
	slices.Sort(all)
	return all
}

// maxGroup bounds the groups that are also searched from all places downwards:
// that is slow for many places, and the catalog's runtimes share fewer.
const maxGroup = 12

// cheapest is the cheapest choice that single changes reach, from no place
// upwards or from all of them downwards.
func cheapest(group []string, price map[string]int, consumers []Consumer) []string {
	consumers = slices.DeleteFunc(slices.Clone(consumers), func(s Consumer) bool { return !slices.ContainsFunc(group, s.near) })
	cost := func(chosen []string) int { return Cost(chosen, price, consumers) }
	up := descend(nil, group, cost)
	if len(group) > maxGroup {
		return up
	}
	if down := descend(group, group, cost); cost(down) < cost(up) {
		return down
	}
	return up
}

// Cost is the cost of a choice: of its places, and of what each runtime then finds
// twice, wrongly or not at all.
func Cost(chosen []string, price map[string]int, consumers []Consumer) (sum int) {
	for _, p := range chosen {
		sum += price[p]
	}
	for _, s := range consumers {
		sum += s.cost(chosen)
	}
	return sum
}

// descend adds or removes one place as long as that lowers the cost: not always
// the best choice, but a good one.
func descend(chosen, group []string, cost func([]string) int) []string {
	for least := cost(chosen); ; {
		var best []string
		better := false
		for _, p := range group {
			next := slices.DeleteFunc(slices.Clone(chosen), func(q string) bool { return q == p })
			if len(next) == len(chosen) {
				next = append(next, p)
			}
			if c := cost(next); c < least {
				best, least, better = next, c, true
			}
		}
		if !better {
			return chosen
		}
		chosen = best
	}
}

// near reports whether s may load from place.
func (s Consumer) near(place string) bool { return s.Told == place || slices.Contains(s.Loads, place) }

// Groups separates places so that no consumer is near two groups.
func Groups(places []string, consumers []Consumer) [][]string {
	group := map[string]int{}
	for i, p := range places {
		group[p] = i
	}
	for _, s := range consumers {
		first := -1
		for _, p := range places {
			if !s.near(p) {
				continue
			}
			if first < 0 {
				first = group[p]
				continue
			}
			for q, g := range group {
				if g == group[p] && q != p {
					group[q] = first
				}
			}
			group[p] = first
		}
	}
	var out [][]string
	at := map[int]int{}
	for _, p := range places {
		i, ok := at[group[p]]
		if !ok {
			i = len(out)
			at[group[p]] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], p)
	}
	return out
}
