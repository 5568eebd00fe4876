package adapter

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestEveryRuntimeFindsItOnceIfThatCanBe(t *testing.T) {
	claude := seat{wants: true, loads: []string{".claude", "block"}, best: ".claude"}
	codex := seat{wants: true, loads: []string{"block"}}
	copilot := seat{wants: true, loads: []string{".github", "block", ".claude"}, best: ".github"}
	opencode := seat{wants: true, loads: []string{"block"}, told: ".opencode", best: ".opencode"}
	not := func(s seat) seat { s.wants = false; return s }
	tests := map[string]struct {
		seats []seat
		want  []string
	}{
		"nobody":                        {nil, nil},
		"its own form":                  {[]seat{claude}, []string{".claude"}},
		"each its own":                  {[]seat{claude, opencode}, []string{".claude", ".opencode"}},
		"one that both load":            {[]seat{claude, copilot}, []string{".claude"}},
		"the common one for all":        {[]seat{claude, codex, copilot, opencode}, []string{"block"}},
		"for one alone":                 {[]seat{claude, not(codex), not(opencode)}, []string{".claude"}},
		"others see it, if they must":   {[]seat{not(claude), codex}, []string{"block"}},
		"who is told only if it has to": {[]seat{codex, opencode}, []string{"block"}},
		"nothing to load it from":       {[]seat{{wants: true}}, nil},
	}
	places := map[string]int{".claude": 1, ".github": 1, ".opencode": 1, "block": 2}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cover(places, test.seats); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			slices.Reverse(test.seats)
			if got := cover(places, test.seats); !slices.Equal(got, test.want) {
				t.Errorf("in another order: got %q, want %q", got, test.want)
			}
		})
	}
}

func TestManyRuntimesAreCoveredInNoTime(t *testing.T) {
	places := map[string]int{}
	var seats []seat
	for i := range 60 {
		own := fmt.Sprintf("own%d", i)
		places[own] = 1
		seats = append(seats, seat{wants: true, loads: []string{own}})
	}
	start := time.Now()
	if got := cover(places, seats); len(got) != 60 {
		t.Errorf("%d places", len(got))
	}
	for i := range seats { // all of them share one more, so that nothing can be told apart
		seats[i].loads = append(seats[i].loads, "common")
	}
	places["common"] = 1
	cover(places, seats)
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
}
