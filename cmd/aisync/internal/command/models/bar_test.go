package models

import (
	"strings"
	"testing"

	"aisync.dev/aisync/hosts"
)

func TestBarShowsEachPart(t *testing.T) {
	n := hosts.Need{Weights: 18 << 30, KV: 3 << 30, Compute: 512 << 20, Prompts: 2 << 30, Total: 21<<30 + 512<<20, Sequences: 1}
	v := hosts.Verdict{Budget: 32 << 30}
	parts := partsOf(n, v)
	if got, want := bar(false, parts, 32), "##################===-~~........"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := legend(false, parts); got != "# weights 18.0 GiB  = cache 3.0 GiB  - compute 512.0 MiB  ~ old conversations 2.0 GiB  . room 8.5 GiB" {
		t.Error(got)
	}
	for _, width := range []int{5, 9, 40, 76, 200} {
		if got := bar(false, parts, width); len(got) != width {
			t.Errorf("%d columns: %s", width, got)
		}
		if got := bar(true, parts, width); strings.Count(got, "█")+strings.Count(got, "▒")+strings.Count(got, "░") != width {
			t.Errorf("%d columns: %s", width, got)
		}
	}
	if got := bar(false, partsOf(n, hosts.Verdict{Budget: 8 << 30}), 20); strings.Contains(got, ".") {
		t.Errorf("beyond the budget: %s", got)
	}
	for _, x := range []string{bar(false, partsOf(hosts.Need{}, hosts.Verdict{}), 40), bar(false, parts, 2), bar(false, parts, -3)} {
		if x != "" {
			t.Error(x)
		}
	}
}
