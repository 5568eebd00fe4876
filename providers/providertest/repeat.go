package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// repeat: Apply may be killed anywhere and called again with the very change
// that it was called with: the target is then as wanted, nothing else changed,
// and what it returns leads to the same records.
func repeat(t *testing.T, mk func(t *testing.T) Suite) {
	for _, r := range breaks(mk(t)) {
		t.Run(r.name+"/after its end", func(t *testing.T) { r.twice(t, NewBench(t, mk(t))) })
		t.Run(r.name+"/after a kill", func(t *testing.T) {
			for n := 1; ; {
				b := NewBench(t, mk(t))
				if !r.killed(t, b, n) {
					return
				}
				n += max(1, b.Stride)
			}
		})
	}
}

// twice lets the engine make the change, and calls Apply with it once more.
func (r row) twice(t *testing.T, b *Bench) {
	r.arrange(t, b)
	p := b.must(t, r.want, r.with)
	after, records := b.snapshot(t), b.records(t)
	hook, ops := fsys.CountOps()
	out, err := b.Provider.Apply(t.Context(), p.Changes[0], b.direct(b.open(t, hook)))
	if err != nil {
		t.Fatalf("called again: %v", err)
	}
	if got := b.snapshot(t); got != after || ops.Load() != 0 {
		t.Errorf("called again it wrote %d times:\n%s\nwas\n%s", ops.Load(), got, after)
	}
	b.same(t, p.Changes[0], out, records)
}

// killed calls Apply, kills it at its n-th operation, and calls it once more. It
// returns false where there was no such operation.
func (r row) killed(t *testing.T, b *Bench, n int) bool {
	r.arrange(t, b)
	seen := 0
	s := b.open(t, failAt(b, n, true, errFault, &seen))
	c := b.plan(t, s, r.want, r.with).Changes[0]
	_, err := b.Provider.Apply(t.Context(), c, b.direct(s))
	if seen < n && err != nil {
		t.Fatalf("without a kill: %v", err)
	}
	if _, err := b.Provider.Apply(t.Context(), c, b.direct(b.open(t, nil))); err != nil && !(b.Gap && errors.Is(err, reconcile.ErrStale)) {
		t.Errorf("killed at operation %d and called again: %v", n, err)
	} else if got := b.Get(t, b); err == nil && got != r.live {
		t.Errorf("killed at operation %d and called again: live is %q, want %q", n, got, r.live)
	}
	return seen >= n
}

// direct is what the engine would hand to Apply.
func (b *Bench) direct(s session) reconcile.WriteEnv {
	w := s.env
	w.Keep = func(old fsys.LogicalPath, token reconcile.Fingerprint) error {
		digest, _, _ := strings.Cut(string(token), "+")
		return s.store.Dir().KeepBackup(w.FS, old, digest)
	}
	return w
}

// same checks that out, of a change that was made already, leads to records.
func (b *Bench) same(t *testing.T, c reconcile.Change, out reconcile.Outcome, records []reconcile.Record) {
	t.Helper()
	target := c.Target
	target.Last = nil
	for _, rec := range records {
		target.Last, target.Private = append(target.Last, rec.Leaves...), rec.Private
	}
	if now := b.Provider.Observe(t.Context(), b.open(t, nil).env.ReadEnv, []reconcile.Target{target})[0]; out.Token != now.Token {
		t.Errorf("called again it returns the token %q, and there is %q", out.Token, now.Token)
	}
	for _, rec := range records {
		i := slices.IndexFunc(c.Next, func(x reconcile.Record) bool { return x.Owner == rec.Owner })
		if i < 0 {
			t.Fatalf("a record of %s that the plan did not foresee", rec.Owner)
		}
		for _, l := range rec.Leaves {
			foreseen := c.Next[i].Leaf(l.Key)
			private, live := foreseen.Private, foreseen.Live
			if raw, ok := out.LeafPrivate[l.Key]; ok {
				private = raw
			}
			if f, ok := out.LeafLive[l.Key]; ok {
				live = f
			}
			if live != l.Live || !bytes.Equal(private, l.Private) {
				t.Errorf("called again it records %s, was %s", note(live, private), note(l.Live, l.Private))
			}
		}
		private := c.Next[i].Private
		if out.Private != nil {
			private = out.Private
		}
		if !bytes.Equal(private, rec.Private) {
			t.Errorf("called again it notes %s, was %s", private, rec.Private)
		}
	}
}

func note(live reconcile.Fingerprint, private json.RawMessage) string {
	return fmt.Sprintf("%s %s", live, private)
}
