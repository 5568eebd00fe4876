package realcli

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// npmRetries is how long npm tries again by default to reach its registry.
const npmRetries = 70 * time.Second

// A person on a plane types opencode, not ai, which would set its variables.
func TestOpencodeWaitsForNoNetwork(t *testing.T) {
	needWholeRun(t)
	p := lookUp(t, "opencode")
	w := newWorld(t, scope{"both", true, true}, []string{"opencode"})
	w.aisync("apply", "--yes", "--trust")
	with := w.run(w.project, p.env, p.ask("hi")...)
	for _, name := range []string{filepath.Join(w.home, ".config/opencode/plugins"), filepath.Join(w.project, ".opencode/plugins")} {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	without := w.run(w.project, p.env, p.ask("hi")...)
	t.Logf("with the hooks %.1f s, without %.1f s", with.took.Seconds(), without.took.Seconds())
	if with.took > without.took+npmRetries/2 {
		t.Errorf("the hooks cost %s", with.took-without.took)
	}
}
