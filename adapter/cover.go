package adapter

import (
	"maps"
	"slices"
)

// seat is one runtime among those that share the places of something, such as
// rules or skills.
type seat struct {
	wants bool     // it shall find it
	loads []string // places from which it loads whatever they hold
	told  string   // one more, from which it loads once it is told to; "" none
	best  string   // the one whose form is its own; "" any is as good
	once  bool     // it takes what it finds in two places for one thing
}

// finds returns the places among chosen from which s loads.
func (s seat) finds(chosen []string) []string {
	var out []string
	for _, c := range chosen {
		if slices.Contains(s.loads, c) {
			out = append(out, c)
		}
	}
	if len(out) == 0 && s.wants && slices.Contains(chosen, s.told) {
		out = append(out, s.told)
	}
	return out
}

// What is wrong with a choice, from the worst: a runtime finds nothing, it
// finds it twice, another finds it that should not, it finds it in a form that
// is not its own, there is a place more than need be.
const (
	costNothing = 1_000_000
	costTwice   = 1_000
	costOthers  = 100
	costForm    = 10
)

func (s seat) cost(chosen []string) int {
	found := s.finds(chosen)
	switch {
	case !s.wants:
		return costOthers * len(found)
	case len(found) == 0:
		if len(s.loads) == 0 && s.told == "" {
			return 0
		}
		return costNothing
	case len(found) > 1 && !s.once:
		return costTwice * (len(found) - 1)
	case s.best != "" && !slices.Contains(found, s.best):
		return costForm
	}
	return 0
}

// cover chooses those places, sorted, from which everybody who wants it finds
// it, if it can be just once. places holds each with what it costs to use it.
// Equal choices are made equally, whatever the order of seats.
func cover(places map[string]int, seats []seat) []string {
	var all []string
	for _, group := range separate(slices.Sorted(maps.Keys(places)), seats) {
		all = append(all, cheapest(group, places, seats)...)
	}
	slices.Sort(all)
	return all
}

// maxGroup bounds the groups whose choice is also made from all places downwards:
// that takes long where there are many, and the runtimes of the catalog together
// share fewer.
const maxGroup = 12

// cheapest is the choice of least cost that single changes lead to, from no place
// upwards or from all of them downwards.
func cheapest(group []string, price map[string]int, seats []seat) []string {
	seats = slices.DeleteFunc(slices.Clone(seats), func(s seat) bool { return !slices.ContainsFunc(group, s.near) })
	cost := func(chosen []string) (sum int) {
		for _, p := range chosen {
			sum += price[p]
		}
		for _, s := range seats {
			sum += s.cost(chosen)
		}
		return sum
	}
	up := descend(nil, group, cost)
	if len(group) > maxGroup {
		return up
	}
	if down := descend(group, group, cost); cost(down) < cost(up) {
		return down
	}
	return up
}

// descend takes one more place into a choice, or one back, as long as that costs
// less: not always the best choice, but always a good one.
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
func (s seat) near(place string) bool { return s.told == place || slices.Contains(s.loads, place) }

// separate groups places so that no seat is near two groups.
func separate(places []string, seats []seat) [][]string {
	group := map[string]int{}
	for i, p := range places {
		group[p] = i
	}
	for _, s := range seats {
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
