package providertest

import (
	"errors"
	"testing"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// row is one row of the matrix: how the machine got to its state, what is
// wanted now, and what must happen.
type row struct {
	name string
	put  string // before aisync
	last string // applied then; "" nothing
	then string // by hand after that; "=" leaves it
	want string // "" nothing
	with reconcile.Choice

	action reconcile.Action // of the leaf
	live   string           // afterwards
	left   int              // owners with a record afterwards
	undec  bool             // the apply is refused
	drift  bool
}

var (
	force   = reconcile.Choice{Force: true}
	restore = reconcile.Choice{Restore: true}
	keep    = reconcile.Choice{Adopt: true}
)

// oneValue are the rows that need no value but X.
var oneValue = []row{
	{name: "new", want: "X", then: "=", action: reconcile.Create, live: "X", left: 1},
	{name: "already right", put: "X", then: "=", want: "X", action: reconcile.Accept, live: "X", left: 1},
	{name: "in sync", last: "X", then: "=", want: "X", action: reconcile.None, live: "X", left: 1},
	{name: "deleted by hand", last: "X", then: "", want: "X", action: reconcile.Create, live: "X", left: 1, drift: true},
	{name: "dropped", last: "X", then: "=", action: reconcile.Delete, live: "", left: 0},
	{name: "dropped, and there before", put: "X", last: "X", then: "=", action: reconcile.Release, live: "X", left: 0},
	{name: "gone already", last: "X", then: "", action: reconcile.Release, live: "", left: 0, drift: true},
}

var values = []row{
	{name: "another writer's", put: "Y", then: "=", want: "X", action: reconcile.Clash, live: "Y", undec: true},
	{name: "another writer's, forced", put: "Y", then: "=", want: "X", with: force, action: reconcile.Update, live: "X", left: 1},
	{name: "another writer's, adopted", put: "Y", then: "=", want: "X", with: keep, action: reconcile.Accept, live: "Y", left: 1},
	{name: "spec moved", last: "X", then: "=", want: "Z", action: reconcile.Update, live: "Z", left: 1},
	{name: "edited", last: "X", then: "Y", want: "X", action: reconcile.Clash, live: "Y", left: 1, undec: true, drift: true},
	{name: "edited, restored", last: "X", then: "Y", want: "X", with: restore, action: reconcile.Update, live: "X", left: 1, drift: true},
	{name: "edited, kept", last: "X", then: "Y", want: "X", with: keep, action: reconcile.Accept, live: "Y", left: 1, drift: true},
	{name: "already done by the user", last: "X", then: "Z", want: "Z", action: reconcile.Accept, live: "Z", left: 1, drift: true},
	{name: "both moved", last: "X", then: "Y", want: "Z", action: reconcile.Clash, live: "Y", left: 1, undec: true, drift: true},
	{name: "both moved, forced", last: "X", then: "Y", want: "Z", with: force, action: reconcile.Update, live: "Z", left: 1, drift: true},
	{name: "dropped, but edited", last: "X", then: "Y", action: reconcile.Release, live: "Y", left: 0, drift: true},
	{name: "deleted by hand, and the spec moved", last: "X", then: "", want: "Z", action: reconcile.Create, live: "Z", left: 1, drift: true},
}

// seeds are the rows of a target that is written once and then belongs to the user.
var seeds = []row{
	{name: "new", want: "X", then: "=", action: reconcile.Create, live: "X", left: 1},
	{name: "there already", put: "Y", then: "=", want: "X", action: reconcile.Accept, live: "Y", left: 1},
	{name: "edited", last: "X", then: "Y", want: "X", action: reconcile.None, live: "Y", left: 1},
	{name: "spec moved", last: "X", then: "=", want: "Z", action: reconcile.None, live: "X", left: 1},
	{name: "deleted by hand", last: "X", then: "", want: "X", action: reconcile.None, live: "", left: 1},
	{name: "dropped", last: "X", then: "=", action: reconcile.Delete, live: "", left: 0},
	{name: "dropped, but edited", last: "X", then: "Y", action: reconcile.Release, live: "Y", left: 0, drift: true},
}

func matrix(t *testing.T, mk func(t *testing.T) Suite) {
	s := mk(t)
	rows := oneValue
	switch {
	case s.KeepsSeed:
		rows = seeds
	case !s.OneValue:
		rows = append(append([]row{}, oneValue...), values...)
	}
	_, sole := s.Provider.(reconcile.Sole)
	for _, r := range rows {
		if sole && r.put != "" && r.action == reconcile.Release {
			r.action, r.live = reconcile.Delete, "" // only aisync can have made it
		}
		t.Run(r.name, func(t *testing.T) { r.check(t, NewBench(t, mk(t))) })
	}
	if !s.OneValue && !s.KeepsSeed && !sole {
		t.Run("replaced, then dropped", func(t *testing.T) { putBack(t, NewBench(t, mk(t))) })
	}
	if s.Block != nil {
		t.Run("something of another type", func(t *testing.T) { blocked(t, NewBench(t, mk(t))) })
	}
}

// arrange brings the machine to the start of r.
func (r row) arrange(t *testing.T, b *Bench) {
	t.Helper()
	if r.put != "" {
		b.Put(t, b, r.put)
	}
	if r.last != "" {
		b.must(t, r.last, reconcile.Choice{})
	}
	if r.then != "=" {
		b.Put(t, b, r.then)
	}
}

func (r row) check(t *testing.T, b *Bench) {
	bare := b.snapshot(t)
	r.arrange(t, b)
	before := b.snapshot(t)
	p, err := b.apply(t, r.want, r.with, nil)
	if errors.Is(err, reconcile.ErrUndecided) != r.undec || err != nil && !r.undec {
		t.Fatalf("apply: %v, want undecided %v", err, r.undec)
	}
	if got := p.Changes[0].Leaves[0]; got.Action != r.action {
		t.Errorf("action %q (%s), want %q", got.Action, got.Meaning, r.action)
	}
	if p.Changes[0].Drift() != r.drift {
		t.Errorf("drift %v, want %v", !r.drift, r.drift)
	}
	if r.undec && b.snapshot(t) != before {
		t.Errorf("an undecided change wrote something:\n%s\nwas\n%s", b.snapshot(t), before)
	}
	if got := b.Get(t, b); got != r.live {
		t.Errorf("live is %q, want %q", got, r.live)
	}
	if got := len(b.records(t)); got != r.left {
		t.Errorf("%d records, want %d", got, r.left)
	}
	if r.action == reconcile.Delete && r.put == "" {
		if after := b.snapshot(t); after != bare {
			t.Errorf("something is left behind:\n%s\nwas\n%s", after, bare)
		}
	}
	if !r.undec {
		b.again(t, r.want)
	}
}

// again checks that a second run plans nothing and writes nothing.
func (b *Bench) again(t *testing.T, want string) {
	t.Helper()
	hook, ops := fsys.CountOps()
	p, err := b.apply(t, want, reconcile.Choice{}, hook)
	if err != nil {
		t.Fatalf("second apply: %v", err)
	}
	if !p.Empty() {
		t.Errorf("the second plan is not empty: %q %s", p.Changes[0].Action, p.Changes[0].Leaves[0].Meaning)
	}
	if ops.Load() != 0 {
		t.Errorf("the second apply wrote %d times", ops.Load())
	}
}

// putBack: a replaced value comes back when ours is dropped.
func putBack(t *testing.T, b *Bench) {
	b.Put(t, b, "Y")
	before := b.snapshot(t)
	b.must(t, "X", force)
	p := b.must(t, "", reconcile.Choice{})
	if got := b.Get(t, b); got != "Y" {
		t.Errorf("live is %q, want what was there before (%+v)", got, p.Changes[0].Leaves[0].Decision)
	}
	if after := b.snapshot(t); after != before {
		t.Errorf("not the exact bytes:\n%s\nwas\n%s", after, before)
	}
	b.again(t, "")
}

// blocked: a target of another type is never touched, not even with force.
func blocked(t *testing.T, b *Bench) {
	b.Block(t, b)
	before := b.snapshot(t)
	p, err := b.apply(t, "X", force, nil)
	if !errors.Is(err, reconcile.ErrUndecided) || p.Changes[0].Action != reconcile.Clash {
		t.Errorf("apply: %v, action %q", err, p.Changes[0].Action)
	}
	if p.Changes[0].Before.Reason == "" {
		t.Error("no reason is given")
	}
	if after := b.snapshot(t); after != before {
		t.Errorf("something changed:\n%s\nwas\n%s", after, before)
	}
}
