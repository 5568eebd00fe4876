package providertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// breaks are the changes that are broken at each of their operations.
func breaks(s Suite) []row {
	rows := []row{
		{name: "create", then: "=", want: "X", live: "X"},
		{name: "delete", last: "X", then: "=", live: ""},
	}
	if !s.OneValue && !s.KeepsSeed {
		rows = append(rows,
			row{name: "update", last: "X", then: "=", want: "Z", live: "Z"},
			row{name: "replace", put: "Y", then: "=", want: "X", with: force, live: "X"},
		)
	}
	return rows
}

// faults fails every operation once, and then everything from there on, as a
// kill would, including the engine's own files, with and without the notes of
// what was done, which are not synced. The target then holds the old or the new
// value, and the next apply arrives where the first would have.
func faults(t *testing.T, mk func(t *testing.T) Suite) {
	for _, r := range breaks(mk(t)) {
		for _, mode := range []struct {
			name         string
			dead, forget bool
			fault        error
		}{{"failure", false, false, errFault}, {"panic", false, false, nil}, {"kill", true, false, errFault}, {"kill without notes", true, true, errFault}} {
			t.Run(r.name+"/"+mode.name, func(t *testing.T) {
				for n := 1; ; {
					b := NewBench(t, mk(t))
					bare := b.snapshot(t)
					r.arrange(t, b)
					old := b.Get(t, b)
					seen := 0
					err := func() (err error) {
						defer fsys.Caught(&err) // as the program does
						_, err = b.apply(t, r.want, r.with, failAt(b, n, mode.dead, mode.fault, &seen))
						return err
					}()
					if mode.forget {
						b.forget(t)
					}
					if seen < n {
						if err != nil {
							t.Fatalf("without a fault: %v", err)
						}
						return
					}
					at := fmt.Sprintf("operation %d", n)
					if got := b.Get(t, b); got != old && got != r.live && !(got == "" && b.Gap && (mode.dead || mode.fault == nil)) {
						t.Errorf("%s: live is %q, want %q or %q", at, got, old, r.live)
					}
					with := r.with
					if b.Gap {
						with = force // a rename and back counts as an edit: the file was not read again
					}
					if _, err := b.apply(t, r.want, with, nil); err != nil {
						t.Fatalf("%s: the next apply: %v", at, err)
					}
					if got := b.Get(t, b); got != r.live {
						t.Errorf("%s: after the next apply live is %q, want %q", at, got, r.live)
					}
					b.again(t, r.want)
					if r.want != "" && r.put == "" {
						b.dropped(t, at, bare)
					}
					n += max(1, b.Stride)
				}
			})
		}
	}
}

// forget removes from the journal the notes of changes that were made, as a
// kill between a change and its note does.
func (b *Bench) forget(t *testing.T) {
	t.Helper()
	journal := filepath.Join(b.Root, string(stateDir), "journal.jsonl")
	text, err := os.ReadFile(journal)
	if err != nil {
		return // there is none yet, or none any more
	}
	head, _, _ := bytes.Cut(text, []byte("\n"))
	if err := os.WriteFile(journal, append(head, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

// dropped checks that nothing is left of a failed apply that another one finished.
func (b *Bench) dropped(t *testing.T, at, bare string) {
	t.Helper()
	b.must(t, "", reconcile.Choice{})
	if after := b.snapshot(t); after != bare {
		t.Errorf("%s: dropped afterwards, something is left behind:\n%s\nwas\n%s", at, after, bare)
	}
}

var errFault = fmt.Errorf("injected: %w", syscall.EIO)

// failAt fails the n-th operation and, where dead, every later one; without a
// fault it panics.
func failAt(b *Bench, n int, dead bool, fault error, seen *int) fsys.Hook {
	var mu sync.Mutex
	return func(op fsys.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if dead && *seen >= n {
			return fault
		}
		if b.Outside && b.bookkeeping(op.Path) {
			return nil
		}
		if *seen++; *seen == n {
			if fault == nil {
				panic("injected")
			}
			return fault
		}
		return nil
	}
}

// stale: a target that changed between plan and apply stays as it is, with an
// error.
func stale(t *testing.T, mk func(t *testing.T) Suite) {
	s := mk(t)
	if s.OneValue || s.KeepsSeed {
		return
	}
	for _, first := range []string{"", "X"} {
		t.Run("from "+fmt.Sprintf("%q", first), func(t *testing.T) {
			b := NewBench(t, mk(t))
			if first != "" {
				b.must(t, first, reconcile.Choice{})
			}
			cmd := b.open(t, nil)
			p := b.plan(t, cmd, "Z", reconcile.Choice{})
			b.Put(t, b, "Y")
			before := b.snapshot(t)
			if err := b.run(t.Context(), cmd, p, ""); !errors.Is(err, reconcile.ErrStale) {
				t.Errorf("apply: %v, want %v", err, reconcile.ErrStale)
			}
			if after := b.snapshot(t); after != before {
				t.Errorf("a stale plan wrote something:\n%s\nwas\n%s", after, before)
			}
		})
	}
}
