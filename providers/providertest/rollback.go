package providertest

import (
	"testing"

	"aisync.dev/aisync/reconcile"
)

// rollback: a rollback restores the exact bytes, modes and folders.
func rollback(t *testing.T, mk func(t *testing.T) Suite) {
	s := mk(t)
	if _, permanent := s.Provider.(reconcile.Permanent); permanent {
		return
	}
	for _, r := range breaks(s) {
		t.Run(r.name, func(t *testing.T) {
			b := NewBench(t, mk(t))
			r.arrange(t, b)
			before := b.snapshot(t)
			records := len(b.records(t))
			b.must(t, r.want, r.with)
			if b.snapshot(t) == before {
				t.Fatal("the apply changed nothing")
			}
			b.rollBack(t)
			if after := b.snapshot(t); after != before {
				t.Errorf("after the rollback:\n%s\nwas\n%s", after, before)
			}
			if got := len(b.records(t)); got != records {
				t.Errorf("%d records, were %d", got, records)
			}
		})
	}
}
