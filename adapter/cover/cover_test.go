package cover

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestEveryRuntimeFindsItOnceIfThatCanBe(t *testing.T) {
	claude := Consumer{Wants: true, Loads: []string{".claude", "block"}, Best: ".claude"}
	codex := Consumer{Wants: true, Loads: []string{"block"}}
	copilot := Consumer{Wants: true, Loads: []string{".github", "block", ".claude"}, Best: ".github"}
	opencode := Consumer{Wants: true, Loads: []string{"block"}, Told: ".opencode", Best: ".opencode"}
	not := func(s Consumer) Consumer { s.Wants = false; return s }
	tests := map[string]struct {
		consumers []Consumer
		want      []string
	}{
		"none":                          {nil, nil},
		"its own form":                  {[]Consumer{claude}, []string{".claude"}},
		"each its own":                  {[]Consumer{claude, opencode}, []string{".claude", ".opencode"}},
		"one that both load":            {[]Consumer{claude, copilot}, []string{".claude"}},
		"the common one for all":        {[]Consumer{claude, codex, copilot, opencode}, []string{"block"}},
		"for one alone":                 {[]Consumer{claude, not(codex), not(opencode)}, []string{".claude"}},
		"others see it, if they must":   {[]Consumer{not(claude), codex}, []string{"block"}},
		"who is told only if it has to": {[]Consumer{codex, opencode}, []string{"block"}},
		"nothing to load it from":       {[]Consumer{{Wants: true}}, nil},
	}
	places := map[string]int{".claude": 1, ".github": 1, ".opencode": 1, "block": 2}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Choose(places, test.consumers); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			slices.Reverse(test.consumers)
			if got := Choose(places, test.consumers); !slices.Equal(got, test.want) {
				t.Errorf("in another order: got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCoverIsFastForManyRuntimes(t *testing.T) {
	places := map[string]int{}
	var consumers []Consumer
	for i := range 60 {
		own := fmt.Sprintf("own%d", i)
		places[own] = 1
		consumers = append(consumers, Consumer{Wants: true, Loads: []string{own}})
	}
	start := time.Now()
	if got := Choose(places, consumers); len(got) != 60 {
		t.Errorf("%d places", len(got))
	}
	for i := range consumers { // all of them share one more, so that nothing can be told apart
		consumers[i].Loads = append(consumers[i].Loads, "common")
	}
	places["common"] = 1
	Choose(places, consumers)
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
}
