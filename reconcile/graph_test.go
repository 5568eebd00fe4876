package reconcile

import (
	"slices"
	"strings"
	"testing"
)

func TestACycleIsNamed(t *testing.T) {
	change := func(a Address, on ...Address) Change {
		return Change{Target: Target{Resource: Resource{Address: a, DependsOn: on, Leaves: []Leaf{{}}}}}
	}
	_, err := order([]Change{change("file:a", "file:b"), change("file:b", "file:c"), change("file:c", "file:a")})
	if err == nil || !strings.Contains(err.Error(), "file:a → file:b → file:c → file:a") {
		t.Error(err)
	}
}

func TestTakingAwayRunsBeforeWhatItDependsOn(t *testing.T) {
	gone := func(a Address, on ...Address) Change {
		return Change{Target: Target{Resource: Resource{Address: a, DependsOn: on}}}
	}
	waits, err := order([]Change{gone("file:hook"), gone("gitconfig:hooks", "file:hook")})
	if err != nil || !slices.Equal(waits[0], []int{1}) || len(waits[1]) != 0 {
		t.Error(waits, err)
	}
}
