package providertest

import (
	"slices"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// failing: a target that cannot be read is unknown. Nothing is decided as if it
// were gone, edited or blocked.
func failing(t *testing.T, mk func(t *testing.T) Suite) {
	b := NewBench(t, mk(t))
	b.must(t, "X", reconcile.Choice{})
	for want, fine := range map[string][]reconcile.Action{
		"X": {reconcile.Unclear, reconcile.None},
		"":  {reconcile.Unclear, reconcile.Delete},
	} {
		for n := range len(crash.Reads) + 1 {
			look := crash.Reads[n:min(n+1, len(crash.Reads))] // in the last round every read fails
			s := b.open(t, nil)
			for _, dir := range []fsys.LogicalPath{"/", "."} {
				s.env.FS = crash.FailReads(s.env.FS, dir, syscall.EIO, look...)
			}
			s.env.ReadEnv.FS = s.env.FS
			c := b.plan(t, s, want, reconcile.Choice{}).Changes[0]
			if !slices.Contains(fine, c.Action) {
				t.Errorf("%q is wanted and %q fails: %q (%s)", want, look, c.Action, c.Meaning())
			}
		}
	}
}
