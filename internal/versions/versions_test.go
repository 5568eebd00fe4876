package versions

import "testing"

func TestRangeHas(t *testing.T) {
	for _, x := range []struct {
		span, version string
		want          bool
	}{
		{"", "1.0", true},
		{">=1.18 <2", "1.18.33", true},
		{">=1.18 <2", "1.17.9", false},
		{">=1.18 <2", "2.0.32", false},
		{">=1.18 <2", "2.0.0-beta.1", false}, // it is what 2 will be
		{">=1.18 <2", "1.18.0-rc.1", true},
		{"<2", "v1.9", true},
		{"=1.2", "1.2", true}, {"=1.2", "1.2.1", false},
		{">1.2 <=1.4", "1.2", false}, {">1.2 <=1.4", "1.4", true},
		{">=0.0.17", "0.0.1790142911-g7618fb", true},
	} {
		r, err := ParseRange(x.span)
		if err != nil {
			t.Errorf("%s: %v", x.span, err)
		}
		if got := r.Has(x.version); got != x.want {
			t.Errorf("%q has %s: %v", x.span, x.version, got)
		}
	}
	for _, bad := range []string{"2", ">=", "~1", ">= 1", "<two"} {
		if r, err := ParseRange(bad); err == nil {
			t.Errorf("%q is taken for %q", bad, r)
		}
	}
}
