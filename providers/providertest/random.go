package providertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/reconcile"
)

// SeedVariable repeats a run's random cases; RoundsVariable asks for more of them.
const (
	SeedVariable   = "AISYNC_TEST_SEED"
	RoundsVariable = "AISYNC_TEST_ROUNDS"
)

// Rounds is the number of random cases to try: few, unless the environment asks
// for more.
func Rounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv(RoundsVariable)); err == nil {
		return n
	}
	return few
}

// Random returns a source of random cases, and shows its seed where t fails.
func Random(t *testing.T) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv(SeedVariable), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again with %s=%d", SeedVariable, seed)
		}
	})
	return rand.New(rand.NewPCG(seed, seed))
}

// properties plays random histories: people change things, specs change, some
// of it is applied in one way or another, and some of that is rolled back.
func properties(t *testing.T, mk func(t *testing.T) Suite) {
	done := proof.Start(t, 2)
	r := Random(t)
	few := 6
	if mk(t).Outside { // real programs, a second each
		few = 2
	}
	rounds, applies := Rounds(few), 0
	for range rounds {
		applies += history(t, r, NewBench(t, mk(t)))
		if t.Failed() {
			return
		}
	}
	done("histories", rounds, "applies", applies)
}

// history plays one of them, and returns how often it applied.
func history(t *testing.T, r *rand.Rand, b *Bench) (applies int) {
	t.Helper()
	values := []string{"", "X", "X", "Y", "Z"}
	wants := []string{"", "X", "X", "Z"}
	if b.OneValue {
		values, wants = []string{"", "X"}, []string{"", "X"}
	}
	choices := []reconcile.Choice{{}, {}, force, restore, keep}
	var story []string
	declined := false
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("after %q:\n%s", story, fmt.Sprintf(format, args...))
	}
	_, permanent := b.Provider.(reconcile.Permanent)
	for range 2 + r.IntN(5) {
		if r.IntN(3) == 0 {
			v := values[r.IntN(len(values))]
			story = append(story, "put "+v)
			b.Put(t, b, v)
		}
		want, choice := wants[r.IntN(len(wants))], choices[r.IntN(len(choices))]
		story = append(story, fmt.Sprintf("apply %s %+v", want, choice))
		declined = declined || choice == keep // a refused change is not asked for again until the spec moves
		before, had := b.snapshot(t), b.Get(t, b)
		p, err := b.apply(t, want, choice, nil)
		applies++
		switch {
		case errors.Is(err, reconcile.ErrUndecided):
			if after := b.snapshot(t); after != before {
				fail("an undecided apply wrote:\n%s\nwas\n%s", after, before)
			}
			continue
		case err != nil:
			fail("apply: %v", err)
			return applies
		}
		live := b.Get(t, b)
		switch {
		case want != "" && live != had && live != want:
			fail("live is %q, was %q, and %q was wanted", live, had, want)
		case choice == force && want != "" && live != want && !b.KeepsSeed && !declined:
			fail("live is %q, though %q was forced", live, want)
		}
		b.again(t, want)
		if t.Failed() {
			fail("see above")
			return applies
		}
		wrote := false
		for _, c := range p.Changes {
			wrote = wrote || c.Writes()
		}
		if !wrote || permanent || r.IntN(2) == 0 {
			continue
		}
		story = append(story, "rollback")
		b.rollBack(t)
		if after := b.snapshot(t); after != before && after != withoutEmpty(before) {
			fail("after the rollback:\n%s\nwas\n%s", after, before)
		}
	}
	return applies
}

// withoutEmpty is a snapshot without empty folders: those that aisync made go
// together with their contents.
func withoutEmpty(snapshot string) string {
	lines := strings.SplitAfter(snapshot, "\n")
	var kept []string
	for _, line := range slices.Backward(lines) {
		name, mode, _ := strings.Cut(line, " ")
		holds := slices.ContainsFunc(kept, func(l string) bool { return strings.HasPrefix(l, name+"/") })
		if holds || !strings.HasPrefix(mode, "d") || name == "." || name == "home" || name == "home/me" {
			kept = append(kept, line)
		}
	}
	slices.Reverse(kept)
	return strings.Join(kept, "")
}

// rollBack rolls back the last apply.
func (b *Bench) rollBack(t *testing.T) {
	t.Helper()
	cmd := b.open(t, nil)
	p, entry, err := cmd.engine.RollbackPlan(t.Context(), cmd.env.ReadEnv, cmd.store, "", reconcile.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.run(t.Context(), cmd, p, entry.ID); err != nil {
		t.Fatalf("rollback: %v", err)
	}
}
