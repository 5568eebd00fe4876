package matrix

import (
	"fmt"
	"testing"

	"aisync.dev/aisync/reconcile/record"
	"aisync.dev/aisync/reconcile/resource"
)

// row is one line of the matrix: what is recorded, what is there and what is
// wanted, as letters; '-' is nothing. Equal letters are equal values.
type row struct {
	last, live, want string
	r                Relation // on top of what the letters say
	c                Choice
	wanted           Decision
}

func (x row) relation() Relation {
	r := x.r
	r.Last, r.Live, r.Want = x.last != "-", x.live != "-", x.want != "-"
	r.LiveLast = r.Live && r.Last && x.live == x.last
	r.WantLive = r.Want && r.Live && x.want == x.live
	r.WantLast = r.Want && r.Last && x.want == x.last
	return r
}

func TestTheMatrixDecidesEveryRow(t *testing.T) {
	created := Relation{InputsSame: true, Provenance: record.Created}
	adopted := Relation{InputsSame: true, Provenance: record.Adopted}
	replaced := Relation{InputsSame: true, Provenance: record.Replaced}
	with := func(r Relation, f func(*Relation)) Relation { f(&r); return r }
	seed := func(r *Relation) { r.Own = resource.SeedOnly }
	held := func(r Relation) Relation { r.Held = true; return r }
	over := Choice{TakeOver: true}
	duplicate := func(r *Relation) { r.Duplicate = true }
	older := func(r *Relation) { r.Older = true }
	rows := []row{
		{"-", "-", "-", Relation{}, Choice{}, Decision{}},
		{"-", "Y", "-", Relation{}, Choice{}, Decision{}},
		{"-", "Y", "-", Relation{}, Choice{Restore: true, Force: true}, Decision{}},

		// in a folder that is ours
		{"-", "Y", "-", Relation{Stray: true}, Choice{}, Decision{Action: Release, Drift: true}},
		{"-", "Y", "-", Relation{Stray: true}, Choice{Force: true}, Decision{Action: Release, Drift: true}},
		{"-", "Y", "-", Relation{Stray: true}, Choice{Restore: true}, Decision{Action: Delete, Drift: true}},
		{"-", "-", "-", Relation{Stray: true, Blocked: true}, Choice{}, Decision{Action: Release, Drift: true}},
		{"-", "-", "-", Relation{Stray: true, Blocked: true}, Choice{Restore: true}, Decision{Drift: true}},

		// never recorded
		{"-", "-", "X", Relation{}, Choice{}, Decision{Action: Create, Pending: true, Provenance: record.Created}},
		{"-", "X", "X", Relation{}, Choice{}, Decision{Action: Accept, Provenance: record.Adopted}},
		{"-", "Y", "X", Relation{}, Choice{}, Decision{Action: Clash, Pending: true}},
		{"-", "Y", "X", Relation{}, Choice{Restore: true}, Decision{Action: Clash, Pending: true}},
		{"-", "Y", "X", Relation{}, Choice{Adopt: true}, Decision{Action: Accept, Pending: true, Provenance: record.Adopted, Decline: true}},
		{"-", "Y", "X", Relation{}, Choice{Force: true}, Decision{Action: Update, Pending: true, Provenance: record.Replaced, TakePrior: true}},
		{"-", "Y", "X", with(Relation{}, func(r *Relation) { r.Former = true }), Choice{}, Decision{Action: Update, Pending: true, Provenance: record.Replaced, TakePrior: true}},
		{"-", "Y", "X", with(Relation{}, func(r *Relation) { r.Former, r.Copy = true, true }), Choice{}, Decision{Action: Update, Pending: true, Provenance: record.Created}},
		{"-", "X", "X", with(Relation{}, func(r *Relation) { r.Copy = true }), Choice{}, Decision{Action: Accept, Provenance: record.Created}},
		{"X", "X", "X", with(adopted, func(r *Relation) { r.Copy = true }), Choice{}, Decision{Action: Accept, Provenance: record.Created}},
		{"X", "X", "X", with(adopted, func(r *Relation) { r.Copy, r.Refused = true, true }), Choice{}, Decision{Action: Accept, Pending: true, Provenance: record.Adopted}},
		{"X", "X", "X", with(created, func(r *Relation) { r.Copy = true }), Choice{}, Decision{Provenance: record.Created}},
		{"-", "Y", "X", with(Relation{}, func(r *Relation) { r.CanMark = true }), Choice{}, Decision{Action: Clash, Pending: true}},
		{"-", "Y", "X", with(Relation{}, func(r *Relation) { r.CanMark = true }), Choice{Merge: true}, Decision{Action: Update, Pending: true, Provenance: record.Replaced, TakePrior: true, MergeBoth: true}},
		{"-", "Y", "X", Relation{}, Choice{Merge: true}, Decision{Action: Clash, Pending: true}},

		// what would be written is read-only
		{"-", "Y", "X", Relation{ReadOnly: true, Own: resource.Member}, Choice{Force: true}, Decision{Action: Clash, Pending: true, ReadOnly: true}},
		{"-", "Y", "X", Relation{ReadOnly: true}, Choice{Adopt: true}, Decision{Action: Accept, Pending: true, Provenance: record.Adopted, Decline: true}},
		{"-", "X", "X", Relation{ReadOnly: true}, Choice{}, Decision{Action: Accept, Provenance: record.Adopted}},
		{"X", "X", "X", with(created, func(r *Relation) { r.ReadOnly = true }), Choice{}, Decision{Provenance: record.Created}},
		{"X", "X", "Z", with(created, func(r *Relation) { r.ReadOnly = true }), Choice{}, Decision{Action: Clash, Pending: true, Provenance: record.Created, ReadOnly: true}},
		{"X", "Y", "X", with(created, func(r *Relation) { r.ReadOnly = true }), Choice{}, Decision{Action: Clash, Drift: true, Provenance: record.Created}},
		{"X", "Y", "X", with(created, func(r *Relation) { r.ReadOnly = true }), Choice{Restore: true}, Decision{Action: Clash, Drift: true, Provenance: record.Created, ReadOnly: true}},
		{"X", "X", "-", with(created, func(r *Relation) { r.ReadOnly = true }), Choice{}, Decision{Action: Clash, Pending: true, Provenance: record.Created, ReadOnly: true}},
		{"X", "Y", "-", with(created, func(r *Relation) { r.ReadOnly = true }), Choice{}, Decision{Action: Release, Drift: true, Pending: true, Warn: true}},

		// in sync, and the spec moved
		// taken over: what a source has or had
		{"-", "X", "X", held(Relation{}), over, Decision{Action: Accept, Pending: true, Provenance: record.Created}},
		{"-", "Y", "X", held(Relation{}), over, Decision{Action: Update, Pending: true, Provenance: record.Created}},
		{"-", "Y", "X", held(Relation{}), Choice{}, Decision{Action: Clash, Pending: true}},
		{"-", "Y", "X", Relation{}, over, Decision{Action: Clash, Pending: true}},
		{"-", "Y", "X", with(held(Relation{}), func(r *Relation) { r.Own = resource.Member }), over, Decision{Action: Clash, Pending: true}},
		{"-", "Y", "X", with(held(Relation{}), func(r *Relation) { r.ReadOnly = true }), over, Decision{Action: Clash, Pending: true, ReadOnly: true, Provenance: ""}},
		{"X", "X", "X", held(adopted), over, Decision{Action: Accept, Provenance: record.Created}},
		{"X", "X", "Z", held(adopted), over, Decision{Action: Update, Pending: true, Provenance: record.Created}},
		{"X", "X", "X", held(created), over, Decision{Provenance: record.Created}},
		{"X", "Y", "X", held(created), over, Decision{Action: Update, Drift: true, Provenance: record.Created}},
		{"X", "Y", "X", created, over, Decision{Action: Clash, Drift: true, Provenance: record.Created}},
		{"X", "X", "X", held(replaced), over, Decision{Provenance: record.Replaced}},
		{"X", "X", "X", with(held(replaced), func(r *Relation) { r.HeldPrior = true }), over, Decision{Action: Accept, Provenance: record.Created}},
		{"Y", "Y", "X", with(held(adopted), func(r *Relation) { r.Declined, r.Refused = true, true }), over, Decision{Action: Update, Pending: true, Provenance: record.Created}},
		{"Y", "Y", "X", with(adopted, func(r *Relation) { r.Declined, r.Refused = true, true }), over, Decision{Provenance: record.Adopted, Decline: true}},
		{"-", "Y", "-", with(Relation{}, duplicate), over, Decision{Action: Delete, Pending: true}},
		{"-", "Y", "-", with(Relation{}, duplicate), Choice{}, Decision{}},
		{"X", "X", "-", with(adopted, duplicate), over, Decision{Action: Delete, Pending: true}},
		{"X", "X", "-", with(replaced, duplicate), over, Decision{Action: Delete, Pending: true}},
		{"X", "X", "-", with(adopted, duplicate), Choice{}, Decision{Action: Release, Pending: true}},
		{"X", "X", "-", with(adopted, func(r *Relation) { duplicate(r); r.Shared = true }), over, Decision{Action: Release, Pending: true}},

		{"X", "X", "X", created, Choice{}, Decision{Provenance: record.Created}},
		{"X", "X", "X", adopted, Choice{Force: true, Restore: true}, Decision{Provenance: record.Adopted}},
		{"X", "X", "X", with(created, func(r *Relation) { r.InputsSame = false }), Choice{}, Decision{Action: Update, Pending: true, Provenance: record.Created}},
		{"X", "X", "Z", created, Choice{}, Decision{Action: Update, Pending: true, Provenance: record.Created}},
		{"X", "X", "Z", adopted, Choice{}, Decision{Action: Update, Pending: true, Provenance: record.Replaced, TakePrior: true}},
		{"X", "X", "Z", replaced, Choice{}, Decision{Action: Update, Pending: true, Provenance: record.Replaced}},

		// edited
		{"X", "Y", "X", created, Choice{}, Decision{Action: Clash, Drift: true, Provenance: record.Created}},
		{"X", "Y", "X", created, Choice{Restore: true}, Decision{Action: Update, Drift: true, Provenance: record.Created}},
		{"X", "Y", "X", replaced, Choice{Force: true}, Decision{Action: Update, Drift: true, Provenance: record.Replaced}},
		{"X", "Y", "X", created, Choice{Adopt: true}, Decision{Action: Accept, Drift: true, Provenance: record.Created, Decline: true}},
		{"X", "Y", "Y", created, Choice{}, Decision{Action: Accept, Drift: true, Pending: true, Provenance: record.Created}},

		// both moved
		{"X", "Y", "Z", created, Choice{}, Decision{Action: Clash, Drift: true, Pending: true, Provenance: record.Created}},
		{"X", "Y", "Z", created, Choice{Restore: true}, Decision{Action: Clash, Drift: true, Pending: true, Provenance: record.Created}},
		{"X", "Y", "Z", created, Choice{Merge: true}, Decision{Action: Clash, Drift: true, Pending: true, Provenance: record.Created}},
		{"X", "Y", "Z", with(created, func(r *Relation) { r.CanMerge = true }), Choice{Merge: true}, Decision{Action: Update, Drift: true, Pending: true, Provenance: record.Created, MergeBoth: true}},
		{"X", "Y", "Z", adopted, Choice{Force: true}, Decision{Action: Update, Drift: true, Pending: true, Provenance: record.Replaced, TakePrior: true}},
		{"X", "Y", "Z", created, Choice{Adopt: true}, Decision{Action: Accept, Drift: true, Pending: true, Provenance: record.Created, Decline: true}},
		{"X", "Y", "Z", with(created, func(r *Relation) { r.CanMark = true }), Choice{Merge: true}, Decision{Action: Update, Drift: true, Pending: true, Provenance: record.Created, MergeBoth: true}},
		{"X", "Y", "Z", with(created, func(r *Relation) { r.CanMark = true }), Choice{}, Decision{Action: Clash, Drift: true, Pending: true, Provenance: record.Created}},

		// merged with conflict markers, and as a person left them
		{"Y", "Y", "Y", with(created, func(r *Relation) { r.Marked, r.Merged = true, true }), Choice{}, Decision{Action: Clash, Drift: true, Provenance: record.Created}},
		{"Y", "Y", "Z", with(created, func(r *Relation) { r.Marked, r.Merged, r.CanMerge = true, true, true }), Choice{Merge: true}, Decision{Action: Clash, Drift: true, Pending: true, Provenance: record.Created}},
		{"Y", "W", "Y", with(created, func(r *Relation) { r.Marked = true }), Choice{Restore: true}, Decision{Action: Update, Drift: true, Provenance: record.Created}},
		{"Y", "W", "Y", with(created, func(r *Relation) { r.Marked = true }), Choice{Adopt: true}, Decision{Action: Accept, Drift: true, Provenance: record.Created, Decline: true}},
		{"Y", "W", "Y", with(created, func(r *Relation) { r.Resolved, r.Merged = true, true }), Choice{}, Decision{Action: Accept, Provenance: record.Created}},
		{"Y", "W", "Z", with(created, func(r *Relation) { r.Resolved, r.Merged, r.CanMerge = true, true, true }), Choice{}, Decision{Action: Clash, Drift: true, Pending: true, Provenance: record.Created}},

		// dropped
		{"X", "X", "-", created, Choice{}, Decision{Action: Delete, Pending: true}},
		{"X", "X", "-", adopted, Choice{}, Decision{Action: Release, Pending: true}},
		{"X", "X", "-", replaced, Choice{}, Decision{Action: PutBack, Pending: true}},
		{"X", "X", "-", with(replaced, func(r *Relation) { r.NoPrior = true }), Choice{}, Decision{Action: Delete, Pending: true}},
		{"X", "X", "-", with(created, func(r *Relation) { r.Shared = true }), Choice{}, Decision{Action: Release, Pending: true}},
		{"X", "Y", "-", created, Choice{}, Decision{Action: Release, Pending: true, Drift: true, Warn: true}},
		{"X", "Y", "-", created, Choice{Force: true}, Decision{Action: Delete, Pending: true}},
		{"X", "Y", "-", adopted, Choice{Force: true}, Decision{Action: Release, Pending: true}},
		{"X", "-", "-", created, Choice{}, Decision{Action: Release, Pending: true, Drift: true}},

		// deleted by hand
		{"X", "-", "X", created, Choice{}, Decision{Action: Create, Drift: true, Provenance: record.Created}},
		{"X", "-", "Z", adopted, Choice{}, Decision{Action: Create, Drift: true, Pending: true, Provenance: record.Created}},

		// refused before
		{"Y", "Y", "X", with(adopted, func(r *Relation) { r.Declined = true }), Choice{}, Decision{Provenance: record.Adopted, Decline: true}},
		{"Y", "W", "X", with(adopted, func(r *Relation) { r.Declined = true }), Choice{Force: true}, Decision{Provenance: record.Adopted, Decline: true}},
		{"Y", "X", "X", with(adopted, func(r *Relation) { r.Declined = true }), Choice{}, Decision{Action: Accept, Provenance: record.Adopted}},
		{"Y", "Y", "-", with(adopted, func(r *Relation) { r.Declined = true }), Choice{}, Decision{Action: Release, Pending: true}},

		// refused before, or merged, and the want moved
		{"Y", "Y", "X", with(created, func(r *Relation) { r.Refused = true }), Choice{}, Decision{Action: Clash, Pending: true, Provenance: record.Created}},
		{"Y", "Y", "X", with(adopted, func(r *Relation) { r.Refused = true }), Choice{Force: true}, Decision{Action: Update, Pending: true, Provenance: record.Replaced, TakePrior: true}},
		{"Y", "Y", "X", with(created, func(r *Relation) { r.Refused = true }), Choice{Adopt: true}, Decision{Action: Accept, Pending: true, Provenance: record.Created, Decline: true}},
		{"Y", "Y", "Y", with(created, func(r *Relation) { r.Refused = true }), Choice{}, Decision{Action: Accept, Pending: true, Provenance: record.Created}},
		{"Y", "Y", "-", with(created, func(r *Relation) { r.Refused = true }), Choice{}, Decision{Action: Release, Pending: true}},
		{"Y", "Y", "X", with(created, func(r *Relation) { r.Merged, r.CanMerge = true, true }), Choice{}, Decision{Action: Update, Pending: true, Provenance: record.Created, MergeBoth: true}},
		{"Y", "Y", "X", with(created, func(r *Relation) { r.Merged = true }), Choice{}, Decision{Action: Clash, Pending: true, Provenance: record.Created}},
		{"Y", "Y", "-", with(created, func(r *Relation) { r.Merged = true }), Choice{}, Decision{Action: Release, Pending: true, Drift: true, Warn: true}},
		{"X", "Y", "X", adopted, Choice{Restore: true}, Decision{Action: Update, Drift: true, Provenance: record.Adopted}},

		// a seed is the user's once it is there
		{"-", "-", "X", with(Relation{}, seed), Choice{}, Decision{Action: Create, Pending: true, Provenance: record.Created}},
		{"-", "Y", "X", with(Relation{}, seed), Choice{Force: true}, Decision{Action: Accept, Provenance: record.Adopted}},
		{"X", "Y", "Z", with(created, seed), Choice{}, Decision{Provenance: record.Created}},
		{"X", "-", "X", with(created, seed), Choice{}, Decision{Provenance: record.Created}},
		{"X", "X", "-", with(created, seed), Choice{}, Decision{Action: Delete, Pending: true}},
		{"X", "Y", "-", with(created, seed), Choice{}, Decision{Action: Release, Pending: true, Drift: true, Warn: true}},

		// the source is older than what was recorded
		{"X", "X", "Z", with(created, older), Choice{Force: true, Restore: true, Adopt: true, Merge: true}, Decision{Action: Clash, Pending: true, Provenance: record.Created}},
		{"X", "Y", "Z", with(created, older), Choice{Force: true}, Decision{Action: Clash, Drift: true, Pending: true, Provenance: record.Created}},
		{"X", "-", "Z", with(created, older), Choice{}, Decision{Action: Clash, Drift: true, Pending: true, Provenance: record.Created}},
		{"-", "-", "X", with(Relation{}, older), Choice{}, Decision{Action: Clash, Pending: true}},
		{"X", "X", "-", with(created, older), Choice{Force: true}, Decision{Action: Clash, Pending: true, Provenance: record.Created}},
		{"X", "X", "X", with(created, older), Choice{}, Decision{Provenance: record.Created}},
		{"X", "Y", "X", with(created, older), Choice{Restore: true}, Decision{Action: Update, Drift: true, Provenance: record.Created}},
		{"X", "-", "X", with(created, older), Choice{}, Decision{Action: Create, Drift: true, Provenance: record.Created}},
		{"X", "-", "-", with(created, older), Choice{}, Decision{Action: Release, Drift: true, Pending: true}},
		{"X", "Y", "Z", with(created, func(r *Relation) { older(r); seed(r) }), Choice{}, Decision{Provenance: record.Created}},
		{"Y", "Y", "X", with(adopted, func(r *Relation) { r.Older, r.Declined = true, true }), Choice{}, Decision{Provenance: record.Adopted, Decline: true}},

		// no choice makes a read-only target writable
		{"-", "Y", "X", with(Relation{}, func(r *Relation) { r.ReadOnly = true }), Choice{}, Decision{Action: Clash, Pending: true, ReadOnly: true}},
		{"-", "Y", "X", with(Relation{}, func(r *Relation) { r.ReadOnly = true }), Choice{Force: true}, Decision{Action: Clash, Pending: true, ReadOnly: true}},
		{"-", "Y", "X", with(Relation{}, func(r *Relation) { r.ReadOnly = true }), Choice{Adopt: true}, Decision{Action: Accept, Pending: true, Decline: true, Provenance: record.Adopted}},
		{"-", "-", "X", with(Relation{}, func(r *Relation) { r.ReadOnly = true }), Choice{}, Decision{Action: Clash, Pending: true, ReadOnly: true}},

		// cannot be seen, or something else is there
		{"X", "-", "X", with(created, func(r *Relation) { r.Unknown = true }), Choice{Force: true}, Decision{Action: Unclear, Provenance: record.Created}},
		{"-", "-", "X", with(Relation{}, func(r *Relation) { r.Unknown = true }), Choice{}, Decision{Action: Unclear}},
		{"-", "-", "X", with(Relation{}, func(r *Relation) { r.Blocked = true }), Choice{Force: true}, Decision{Action: Clash, Pending: true}},
		{"X", "-", "X", with(created, func(r *Relation) { r.Blocked = true }), Choice{}, Decision{Action: Clash, Drift: true, Provenance: record.Created}},
		{"X", "-", "-", with(created, func(r *Relation) { r.Blocked = true }), Choice{}, Decision{Action: Release, Pending: true, Drift: true, Warn: true}},
	}
	for _, x := range rows {
		t.Run(fmt.Sprintf("%s %s %s %+v %+v", x.last, x.live, x.want, x.r, x.c), func(t *testing.T) {
			got := Decide(x.relation(), x.c)
			if got.Action != None && got.Meaning == "" {
				t.Error("an action that says nothing")
			}
			got.Meaning = ""
			if got != x.wanted {
				t.Errorf("got  %+v\nwant %+v", got, x.wanted)
			}
		})
	}
}

// Whatever relates in whatever way, and whatever a person chose: nothing that
// is not wanted or is another writer's is written without a word.
func TestNothingForeignIsWrittenUnasked(t *testing.T) {
	bools := []bool{false, true}
	for bits := range 1 << 13 {
		b := func(i int) bool { return bools[bits>>i&1] }
		r := Relation{Want: b(0), Live: b(1), Last: b(2), WantLive: b(3), LiveLast: b(4), WantLast: b(5), Declined: b(6), InputsSame: b(7), Shared: b(8), CanMerge: b(9), Blocked: b(10), Unknown: b(11), Provenance: record.Created}
		if b(12) {
			r.Provenance = record.Adopted
		}
		if r.WantLive && !(r.Want && r.Live) || r.LiveLast && !(r.Live && r.Last) || r.WantLast && !(r.Want && r.Last) || r.Blocked && r.Live {
			continue // cannot be
		}
		d := Decide(r, Choice{})
		writes := d.Action == Create || d.Action == Update || d.Action == Delete || d.Action == PutBack
		foreign := r.Live && !r.LiveLast // these bytes were never recorded
		if writes && (foreign || r.Blocked || r.Unknown) {
			t.Errorf("%+v: %+v", r, d)
		}
		if d.Action == Delete && (r.Provenance == record.Adopted || r.Want || r.Shared) {
			t.Errorf("deletes what it must not: %+v", r)
		}
	}
}
