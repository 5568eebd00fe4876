// Package providertest holds every provider to the same promises: each row of
// the matrix, nothing to do the second time, the old or the new value after any
// failure, exact bytes after a rollback, nothing left behind. It drives the
// real engine on a real file system and knows no provider. Call Run with a
// Suite.
package providertest

import (
	"testing"

	"aisync.dev/aisync/reconcile"
)

// Suite is one kind of resource, or one way of keeping it, under test. The
// values are named "X", "Y" and "Z", and "" for none.
type Suite struct {
	Provider reconcile.Provider
	Address  reconcile.Address // in the home or, if it is relative or Project is set, in the project
	Project  bool
	Format   string
	Fetch    reconcile.Fetcher
	Run      reconcile.Runner

	// Prepare sets up the machine before anything else; may be nil.
	Prepare func(t *testing.T, b *Bench)
	// Want returns the leaves of a spec that wants v.
	Want func(b *Bench, v string) []reconcile.Leaf
	// Put puts v in place as a person or another program would.
	Put func(t *testing.T, b *Bench, v string)
	// Get returns the present value; any but the four names is a failure.
	Get func(t *testing.T, b *Bench) string
	// Block puts something of another type in the place; nil if that is impossible.
	Block func(t *testing.T, b *Bench)

	// The fields below exempt a suite from a promise, and so does a nil Block:
	// the table in docs/guarantees.md names their users.

	// Kept are folders below the root whose content outlives its users, such as
	// a store; their content is not compared.
	Kept []string

	OneValue  bool // the kind has no value but X
	Gap       bool // a kill or a panic during a replacement may leave nothing there, and the old under another name
	Outside   bool // break only writes outside the engine's own files
	Stride    int  // break only every n-th operation; for the further suites of one provider
	KeepsSeed bool // first content: never drifts, is never replaced
}

// Run tests what mk makes against every promise. It calls mk once per case.
func Run(t *testing.T, mk func(t *testing.T) Suite) {
	t.Run("matrix", func(t *testing.T) { matrix(t, mk) })
	t.Run("ffailing disk", func(t *testing.T) { failing(t, mk) })
	t.Run("faults", func(t *testing.T) { faults(t, mk) })
	t.Run("called again", func(t *testing.T) { repeat(t, mk) })
	t.Run("rollback", func(t *testing.T) { rollback(t, mk) })
	t.Run("random histories", func(t *testing.T) { properties(t, mk) })
	t.Run("stale", func(t *testing.T) { stale(t, mk) })
}
