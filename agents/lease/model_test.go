package lease

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The paths of the histories, and which of them overlap, by hand.
var (
	paths    = []string{"src", "src/a.go", "src/b", "src/**", "lib/*.go", "lib/x.go"}
	overlaps = [][]int{{1, 2, 3}, {0, 3}, {0, 3}, {0, 1, 2}, {5}, {4}}
)

// agent is one process of the histories. A later process may have the name of
// one that was killed.
type agent struct {
	Name   int
	Hidden bool // the others cannot see its process: it never counts as gone
}

// call is what an agent was asked to do; kill is the operation of no agent.
type call struct {
	Do    string // claim, release, renew, drop, read, kill
	Agent int    // into the list of agents
	Paths []int
	Force bool
}

// result is what it answered.
type result struct {
	Killed  bool // it did not: the call has happened or not
	Refused bool
	Free    []int // release: paths that were not claimed
	Owners  [6]int
	States  [6]string // read: by path; drop: "ended" for those that it dropped
}

// state of the model: the agents (their place in the list plus one) that hold the
// paths, and a bit for each that is gone.
type state struct {
	Owner [6]int
	Gone  uint64
}

// specification is the sequential behaviour of claims between agents.
type specification []agent

func (s specification) ended(st state, owner int) bool {
	return st.Gone&(1<<owner) != 0 && !s[owner-1].Hidden
}

func (s specification) claim(st state, c call) (state, bool) {
	name := s[c.Agent].Name
	for _, p := range c.Paths {
		for _, q := range overlaps[p] {
			owner := st.Owner[q]
			if c.Force || owner == 0 || s[owner-1].Name == name {
				continue
			}
			if !s.ended(st, owner) {
				return st, false
			}
			st.Owner[q] = 0
		}
		if owner := st.Owner[p]; owner != 0 && s[owner-1].Name != name && !s.ended(st, owner) && !c.Force {
			return st, false
		}
		st.Owner[p] = c.Agent + 1
	}
	return st, true
}

func (s specification) release(st state, c call) (now state, free []int, ok bool) {
	now = st
	for _, p := range c.Paths {
		switch owner := st.Owner[p]; {
		case owner == 0:
			free = append(free, p)
		case s[owner-1].Name != s[c.Agent].Name && !c.Force:
			return st, nil, false
		}
		now.Owner[p] = 0
	}
	return now, free, true
}

func (s specification) renew(st state, c call) state {
	for p, owner := range st.Owner {
		if owner != 0 && s[owner-1].Name == s[c.Agent].Name && !s.ended(st, owner) {
			st.Owner[p] = c.Agent + 1
		}
	}
	return st
}

// dropped returns the states after each choice of ended claims was removed: what
// a killed drop may have done.
func (s specification) dropped(st state) []any {
	all := []any{st}
	for p, owner := range st.Owner {
		if owner == 0 || !s.ended(st, owner) {
			continue
		}
		for _, one := range slices.Clone(all) {
			next := one.(state)
			next.Owner[p] = 0
			all = append(all, next)
		}
	}
	return all
}

// step returns the states that may follow st; none where out cannot be.
func (s specification) step(st state, c call, out result) []any {
	one := func(possible bool, next state) []any {
		if possible {
			return []any{next}
		}
		return nil
	}
	switch c.Do {
	case "kill":
		st.Gone |= 1 << (c.Agent + 1)
		return []any{st}
	case "claim":
		next, ok := s.claim(st, c)
		if out.Killed && ok {
			return []any{st, next}
		}
		if !ok {
			next = st
		}
		return one(out.Killed || ok != out.Refused, next)
	case "release":
		next, free, ok := s.release(st, c)
		if out.Killed {
			return []any{st, next}
		}
		return one(ok != out.Refused && (!ok || slices.Equal(free, out.Free)), next)
	case "renew":
		next := s.renew(st, c)
		if out.Killed {
			return []any{st, next}
		}
		return one(true, next)
	case "drop":
		if out.Killed {
			return s.dropped(st)
		}
		// It removes what it read, unless that has changed.
		for p, owner := range out.Owners {
			if out.States[p] == "ended" {
				if !s.ended(st, owner) {
					return nil
				}
				if st.Owner[p] == owner {
					st.Owner[p] = 0
				}
			}
		}
		return []any{st}
	case "read":
		if out.Killed {
			return []any{st}
		}
		if st.Owner != out.Owners {
			return nil
		}
		for p, owner := range st.Owner {
			want := []string{""}
			switch {
			case owner == 0:
			case s[owner-1].Hidden:
				want = []string{"held", "stale"}
			case s.ended(st, owner):
				want = []string{"ended"}
			default:
				want = []string{"held"}
			}
			if !slices.Contains(want, out.States[p]) {
				return nil
			}
		}
		return []any{st}
	}
	return nil
}

func (s specification) model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init:              func() []any { return []any{state{}} },
		Step:              func(st, in, out any) []any { return s.step(st.(state), in.(call), out.(result)) },
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %+v", in, out) },
	}
	return nondeterministic.ToModel()
}

// The model tells a good history from bad ones: otherwise the checks prove nothing.
func TestSpecificationRefusesBadHistories(t *testing.T) {
	agents := specification{{Name: 0}, {Name: 1}, {Name: 0}, {Name: 2, Hidden: true}}
	took := func(agent int, at ...int) call { return call{Do: "claim", Agent: agent, Paths: at} }
	kill := func(agent int) call { return call{Do: "kill", Agent: agent} }
	type did struct {
		c   call
		out result
	}
	refused := result{Refused: true}
	for name, c := range map[string]struct {
		did  []did
		good bool
	}{
		"a held path is refused":         {[]did{{took(0, 0), result{}}, {took(1, 0), refused}}, true},
		"two owners":                     {[]did{{took(0, 0), result{}}, {took(1, 0), result{}}}, false},
		"a child of a held folder":       {[]did{{took(0, 0), result{}}, {took(1, 5, 1), result{}}}, false},
		"half of a refused claim":        {[]did{{took(0, 0), result{}}, {took(1, 5, 0), refused}, {call{Do: "read", Agent: 1}, result{Owners: [6]int{1, 0, 0, 0, 0, 2}, States: [6]string{"held", 5: "held"}}}}, false},
		"a refusal of a free path":       {[]did{{took(0, 0), refused}}, false},
		"the claim of a killed agent":    {[]did{{took(0, 0), result{}}, {kill(0), result{}}, {took(1, 1), result{}}}, true},
		"it is refused":                  {[]did{{took(0, 0), result{}}, {kill(0), result{}}, {took(1, 1), refused}}, false},
		"that of a hidden one":           {[]did{{took(3, 0), result{}}, {kill(3), result{}}, {took(1, 1), result{}}}, false},
		"a lost claim":                   {[]did{{took(0, 0), result{}}, {call{Do: "read", Agent: 1}, result{}}}, false},
		"a successor that inherits":      {[]did{{took(0, 0), result{}}, {kill(0), result{}}, {call{Do: "renew", Agent: 2}, result{}}, {took(1, 0), refused}}, false},
		"a dropped claim of a live one":  {[]did{{took(0, 0), result{}}, {call{Do: "drop", Agent: 1}, result{Owners: [6]int{1}, States: [6]string{"ended"}}}}, false},
		"a claim that its kill cut":      {[]did{{took(0, 0), result{Killed: true}}, {took(1, 0), refused}}, true},
		"a stale claim counts as gone":   {[]did{{took(3, 0), result{}}, {call{Do: "read", Agent: 1}, result{Owners: [6]int{4}, States: [6]string{"ended"}}}}, false},
		"a release of what another owns": {[]did{{took(0, 0), result{}}, {call{Do: "release", Agent: 1, Paths: []int{0}}, result{}}}, false},
	} {
		var history []porcupine.Operation
		for i, d := range c.did {
			history = append(history, porcupine.Operation{Input: d.c, Output: d.out, Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		if got := porcupine.CheckOperations(agents.model(), history); got != c.good {
			t.Errorf("%s: %v", name, got)
		}
	}
}
