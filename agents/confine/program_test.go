package confine

import (
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestProgramCommandIsNonInteractive(t *testing.T) {
	launch := func(autonomous []string, headless ...string) spec.Runtime {
		return spec.Runtime{Launch: spec.Launch{Args: []string{"--always"}, Headless: headless, Autonomous: autonomous}}
	}
	for want, c := range map[string]struct {
		rt   spec.Runtime
		kept bool
	}{
		"x --always exec --free --skip P": {launch([]string{"--free"}, "exec", "--skip", "{prompt}"), true},
		"x --always exec --skip P":        {launch([]string{"--free"}, "exec", "--skip", "{prompt}"), false},
		"x --always run P":                {launch(nil, "run", "{prompt}"), true},
		"x --always --free -p P":          {launch([]string{"--free"}, "-p", "{prompt}"), true},
		"x --always --yes --message P":    {launch([]string{"--yes"}, "--yes", "--message", "{prompt}"), true},
	} {
		got := strings.Join(Program{Runtime: c.rt, Path: "x"}.Command("P", c.kept), " ")
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
