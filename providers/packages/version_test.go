package packages

import "testing"

func TestConstraintAllows(t *testing.T) {
	for _, x := range []struct {
		spec, version string
		want          bool
	}{
		{"any", "0.0.1", true},
		{"1.2.3", "1.2.3", true},
		{"1.2.3", "v1.2.3", true}, // Go's
		{"1.2.3", "1.2.4", false},
		{"1.2", "1.2.0", false},
		{">=1.2", "1.2.0", true},
		{">= 1.2", "1.10", true},
		{">=1.10", "1.9.9", false},
		{">=2.0.0", "2.0.0-rc.1", false}, // semver: before the release
		{">=2024.05.1.2", "2024.05.1.10", true},
		{">=2024.05.1.10", "2024.05.1.2", false},
		{">=7.3p1", "7.3p2", true},
		{">=7.3p1", "7.3.1", true}, // a number is newer than a word
		{">=1.0", "1.0", true},
	} {
		c, err := parseConstraint(x.spec)
		if err != nil {
			t.Errorf("%s: %v", x.spec, err)
		}
		if got := c.allows(x.version); got != x.want {
			t.Errorf("%s allows %s: %v", x.spec, x.version, got)
		}
	}
	for _, bad := range []string{"", ">=", "-1", "1 2", "$(id)", "<=2", ">=any thing"} {
		if c, err := parseConstraint(bad); err == nil {
			t.Errorf("%q is taken for %q", bad, c)
		}
	}
}

func TestADistributionsVersionIsComparedWithoutEpochAndRevision(t *testing.T) {
	for version, want := range map[string]string{"1.2-1": "1.2", "1:2.39.5-0+deb12u2": "2.39.5", "1.2": "1.2", "2:9.1.0-rc1-3": "9.1.0-rc1"} {
		if got := upstream(version); got != want {
			t.Errorf("%s is %s", version, got)
		}
	}
	if !pacman.satisfies("2:3.5_a-1", "=3.5_a") || pacman.satisfies("2:3.5_a-1", "=3.5") || npm.satisfies("1.2.3-1", "=1.2.3") {
		t.Error("a revision counts, or a pre-release does not")
	}
}

func TestConstraintImplies(t *testing.T) {
	for _, x := range []struct {
		a, b constraint
		want bool
	}{
		{"=1.2", "any", true}, {"=1.2", ">=1.1", true}, {"=1.2", ">=1.3", false}, {">=1.2", ">=1.1", true},
		{">=1.1", ">=1.2", false}, {"any", ">=1.2", false}, {"any", "any", true}, {"", "any", false}, {">=1.2", "=1.2", false},
	} {
		if got := x.a.implies(x.b); got != x.want {
			t.Errorf("%q implies %q: %v", x.a, x.b, got)
		}
	}
}
