package newer

import "testing"

func TestNewerTagComparesVersionsOfOneName(t *testing.T) {
	for _, c := range []struct {
		tag  string
		tags []string
		want string
	}{
		{"v1.9.0", []string{"v1.9.0", "v1.10.0", "v1.2.0"}, "v1.10.0"},
		{"v1", []string{"v1", "v2", "v2.1.0"}, "v2.1.0"},
		{"1.0.0", []string{"v1.0.1"}, "v1.0.1"},
		{"v2.0.0", []string{"v1.0.0", "v2.0.0"}, ""},
		{"v1.0.0", []string{"v2.0.0-rc.1"}, ""},
		{"v1.0.0-rc.1", []string{"v1.0.0-rc.2", "v1.0.0"}, "v1.0.0"},
		{"tools-v1.0.0", []string{"other-v3.0.0", "tools-v1.1.0"}, "tools-v1.1.0"},
		{"nightly", []string{"v1.0.0"}, ""},
		{"v1.0.0", []string{"release"}, ""},
	} {
		tags := map[string]string{}
		for _, name := range c.tags {
			tags[name] = "x"
		}
		if got := newerTag(c.tag, tags); got != c.want {
			t.Errorf("%s of %v: got %q, want %q", c.tag, c.tags, got, c.want)
		}
	}
}
