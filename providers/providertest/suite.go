// Package providertest holds every provider to the same promises: each row of
// the matrix, twice is once, old or new after any failure, exact bytes after a
// rollback, nothing left behind. It drives the real engine on a real file
// system and knows no provider. Start reading at Suite, then matrix.go.
package providertest

import (
	"testing"

	"aisync.dev/aisync/reconcile"
)

// Suite is one kind of resource, or one way of keeping it, under test. Values
// are named "X", "Y" and "Z", and "" for nothing there.
type Suite struct {
	Provider reconcile.Provider
	Address  reconcile.Address // in the home or, where it is relative or Project is set, in the project
	Project  bool
	Format   string
	Fetch    reconcile.Fetcher
	Run      reconcile.Runner

	// Prepare makes what is there before anything else; may be nil.
	Prepare func(t *testing.T, b *Bench)
	// Want is what a spec says that wants v.
	Want func(b *Bench, v string) []reconcile.Leaf
	// Put makes v be there, as a person or another program would.
	Put func(t *testing.T, b *Bench, v string)
	// Get says which value is there; anything but the four names is a failure.
	Get func(t *testing.T, b *Bench) string
	// Block puts something of another type in the place; nil where nothing can be there.
	Block func(t *testing.T, b *Bench)

	// The fields below exempt a suite from a promise, and so does a nil Block: see
	// the table in docs/guarantees.md, where each of their users stands.

	// Kept are folders below the root whose content outlives what uses it, such
	// as a store; what is in them is not compared.
	Kept []string

	OneValue  bool // there is no other value than X
	Gap       bool // a kill or a panic while something is replaced may leave nothing there, and the old under another name
	Outside   bool // break only what is written outside of the engine's own files
	Stride    int  // break only every n-th operation; for the further suites of one provider
	KeepsSeed bool // first content: never drifts, never replaced
}

// Run holds what mk makes to everything this package knows. mk is called for
// every case anew.
func Run(t *testing.T, mk func(t *testing.T) Suite) {
	t.Run("matrix", func(t *testing.T) { matrix(t, mk) })
	t.Run("ffailing disk", func(t *testing.T) { failing(t, mk) })
	t.Run("faults", func(t *testing.T) { faults(t, mk) })
	t.Run("called again", func(t *testing.T) { repeat(t, mk) })
	t.Run("rollback", func(t *testing.T) { rollback(t, mk) })
	t.Run("random histories", func(t *testing.T) { properties(t, mk) })
	t.Run("stale", func(t *testing.T) { stale(t, mk) })
}
