package drift

import "testing"

func TestNestedSpec(t *testing.T) {
	for _, c := range []struct{ cwd, file, want string }{
		{"/p", "aisync.cue", "aisync.cue"},
		{"/p/packages/api", "../../aisync.cue", "aisync.cue"},
		{"/p/packages/api", "aisync.cue", "packages/api/aisync.cue"},
		{"/p", "packages/api/aisync.cue", "packages/api/aisync.cue"},
		{"/elsewhere", "/p/packages/api/aisync.cue", "packages/api/aisync.cue"},
		{"/elsewhere", "../other/aisync.cue", "aisync.cue"},
	} {
		if got := nestedSpec(c.cwd, "/p", c.file); got != c.want {
			t.Errorf("%s from %s: %s, want %s", c.file, c.cwd, got, c.want)
		}
	}
}
