// Package matrix decides what to do to one leaf from what is wanted, what is
// there and what is recorded. It reads and writes nothing. Call Decide; each
// row of its table is a case of its test.
package matrix

import (
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/record"
	"aisync.dev/aisync/reconcile/resource"
)

// Action is what to do to a leaf or, summed up, to a resource. Its value is the
// symbol that a person sees.
type Action string

const (
	None    Action = ""
	Create  Action = "+"
	Update  Action = "~"
	Delete  Action = "-"
	Accept  Action = "=" // record only: already right
	Release Action = "." // forget, and leave what is there
	Clash   Action = "!" // no choice yet
	Unclear Action = "?" // cannot be observed
	PutBack Action = "<" // a dropped leaf: the prior is put back
)

// Relation is how want, live and last of one leaf relate.
type Relation struct {
	Want, Live, Last bool // whether each exists

	WantLive bool // live satisfies want; both exist
	LiveLast bool // live equals the record; both exist
	WantLast bool // want equals the record; both exist

	Declined   bool // the user refused exactly this want
	Refused    bool // the user refused some want: the record is theirs
	Merged     bool // the record contains edits of the user
	InputsSame bool // its dependencies are as recorded
	Shared     bool // another owner, outside this plan, still has it
	CanMerge   bool // the provider could merge want and live
	CanMark    bool // it could, except for some lines that would get conflict markers
	Marked     bool // the conflict markers of such a merge are still there
	Resolved   bool // they are gone
	Former     bool // never recorded, and equal to an earlier version of the want
	Copy       bool // made from a source elsewhere, which has or had that text
	Stray      bool // never wanted, in a folder that aisync owns
	Duplicate  bool // not wanted, and what a source has or had of something that programs load from elsewhere as well
	Held       bool // with Choice.TakeOver: the source of the want has, or had, exactly what is there
	HeldPrior  bool // likewise of what was replaced
	Blocked    bool // something of another type is in the way
	Unknown    bool
	ReadOnly   bool // must not be written to
	Older      bool // the source of the want is older than the record
	NoPrior    bool // no backup of what was replaced is on this machine

	Contested resource.Owner // an owner outside this plan that recorded another value

	Own        resource.Ownership
	Provenance record.Provenance
}

// BothMoved reports whether edits of the user meet a new want in r, or an old
// copy meets a want.
func (r Relation) BothMoved() bool {
	if !r.Last {
		return r.Want && r.Live && !r.WantLive && !r.Former && r.Contested == "" && !r.Unknown && !r.Blocked && r.Own == resource.Exclusive
	}
	return r.Want && r.Last && r.Live && (!r.LiveLast || r.Merged) && !r.WantLive && !r.WantLast && !r.Declined && !r.Unknown && !r.Blocked && r.Own != resource.SeedOnly
}

// Regresses reports whether r may bring something back, or remove something, if
// the source of the want is older than the record.
func (r Relation) Regresses() bool {
	switch {
	case r.Unknown || r.Declined || r.Want && r.Own == resource.SeedOnly && (r.Last || r.Live):
		return false
	case r.Want:
		return !r.WantLive && !r.WantLast
	}
	return r.Last && r.Live
}

// Choice is a person's decision about conflicts.
type Choice struct {
	Force   bool `json:"force"`   // write ours over another writer's or an edit; the prior is kept
	Restore bool `json:"restore"` // restore what was edited
	Adopt   bool `json:"adopt"`   // keep what is there, and record that ours was refused
	Merge   bool `json:"merge"`   // merge both changes if possible

	TakeOver bool `json:"take_over"` // make aisync's own what its sources have or had, and remove duplicates of that
}

// Decision is the outcome of one row of the matrix.
type Decision struct {
	Action  Action
	Drift   bool   // live differs from the record
	Pending bool   // the spec wants something other than the record
	Meaning string // for people
	Warn    bool

	Provenance record.Provenance // of the record afterwards; "" without a record
	TakePrior  bool              // what is there becomes the prior
	Decline    bool              // record the want as refused
	Same       bool              // the record stays; only its owner changes
	MergeBoth  bool              // three-way
	ReadOnly   bool              // decided, but not done, because the target is read-only: nothing else waits for it
}

// Writes reports whether d changes more than records.
func (d Decision) Writes() bool {
	switch d.Action {
	case Create, Update, Delete, PutBack:
		return true
	}
	return false
}

// Decide is the matrix: the only place where want, live and last become an
// action. It is pure.
func Decide(r Relation, c Choice) Decision {
	if r.Older && r.Regresses() {
		return Decision{Action: Clash, Drift: r.Last && !r.LiveLast, Pending: true, Meaning: "its source is older than what was recorded", Provenance: r.Provenance}
	}
	d := decide(r, c)
	if r.ReadOnly && (d.Writes() || d.Action == Clash && !r.Last && decide(r, Choice{Force: true}).Writes()) { // no choice makes it writable
		return Decision{Action: Clash, Drift: d.Drift, Pending: d.Pending, Meaning: "read-only", Provenance: r.Provenance, ReadOnly: true}
	}
	return d
}

func decide(r Relation, c Choice) Decision {
	switch {
	case r.Duplicate && c.TakeOver && !r.Want && r.Live && !r.Shared && !r.Blocked && !r.Unknown:
		return Decision{Action: Delete, Pending: true, Meaning: "a duplicate, as its source has or had it: removed"}
	case !r.Want && !r.Last:
		return stray(r, c)
	case r.Unknown:
		return Decision{Action: Unclear, Meaning: "cannot be observed", Provenance: r.Provenance}
	case c.TakeOver && r.foreign() && r.Held:
		return takeOver(r)
	case r.Last && r.Own == resource.SeedOnly && r.Want:
		return keep(r, "")
	case r.Want && r.Declined:
		return declined(r)
	case r.Blocked && r.Want:
		return Decision{Action: Clash, Drift: r.Last, Pending: !r.Last, Meaning: "something of another type is in the way", Provenance: r.Provenance}
	case !r.Want:
		return dropped(r, c)
	case !r.Last:
		return unrecorded(r, c)
	case !r.Live:
		return Decision{Action: Create, Drift: true, Pending: !r.WantLast, Meaning: "deleted since the last apply", Provenance: made(r.Provenance)}
	case r.Marked:
		return marked(r, c)
	case r.Resolved && r.WantLast && !r.WantLive:
		return Decision{Action: Accept, Meaning: "merged by hand", Provenance: r.Provenance}
	case r.LiveLast && r.WantLive && r.Refused:
		return Decision{Action: Accept, Pending: true, Meaning: "the spec wants what you kept", Provenance: r.Provenance}
	case r.LiveLast && r.WantLast || r.LiveLast && r.WantLive:
		if !r.InputsSame {
			return Decision{Action: Update, Pending: true, Meaning: "what it depends on changed", Provenance: r.Provenance}
		}
		if r.Provenance == record.Adopted && !r.Refused && r.WantLive && r.Copy { // recorded by an aisync that did not look for that
			return Decision{Action: Accept, Meaning: "a copy of its source: kept up to date and removed with it from now on", Provenance: record.Created}
		}
		return keep(r, "")
	case r.LiveLast && (r.Refused || r.Merged):
		return theirsMoved(r, c)
	case r.LiveLast:
		return Decision{Action: Update, Pending: true, Meaning: "the spec moved", Provenance: overwritten(r.Provenance), TakePrior: r.Provenance == record.Adopted}
	case r.WantLive:
		return Decision{Action: Accept, Drift: true, Pending: !r.WantLast, Meaning: "already changed to what the spec wants", Provenance: r.Provenance}
	case r.WantLast:
		return drifted(r, c)
	}
	return bothMoved(r, c)
}

// foreign reports whether what is there, where something is wanted, is not what
// aisync last made.
func (r Relation) foreign() bool {
	return r.Want && r.Live && !r.Blocked && r.Contested == "" && r.Own == resource.Exclusive &&
		(!r.Last || r.Provenance != record.Created || !r.LiveLast || r.Refused)
}

// takeOver makes a copy of a source aisync's own. A prior that no source ever
// had is put back once the want is dropped, as before.
func takeOver(r Relation) Decision {
	d := Decision{Drift: r.Last && !r.LiveLast, Pending: !r.WantLast, Provenance: record.Created}
	if r.Last && r.Provenance == record.Replaced && !r.HeldPrior {
		d.Provenance = record.Replaced
	}
	switch {
	case !r.WantLive:
		d.Action, d.Meaning = Update, "an earlier version of it: taken over and updated"
	case r.Last && r.LiveLast && d.Provenance == r.Provenance && !r.Refused:
		d.Action = None
	default:
		d.Action, d.Meaning = Accept, "a copy of its source: taken over"
	}
	return d
}

// stray is a file that was never wanted. Only --force removes it.
func stray(r Relation, c Choice) Decision {
	switch {
	case !r.Stray:
		return Decision{}
	case !c.Restore && r.Live:
		return Decision{Action: Release, Drift: true, Meaning: "a stray file: no spec asks for it, in a folder of aisync's"}
	case !c.Restore:
		return Decision{Action: Release, Drift: true, Meaning: "a stray: no spec asks for it, in a folder of aisync's"}
	case !r.Live:
		return Decision{Drift: true, Meaning: "a stray, not a regular file: left to you"}
	}
	return Decision{Action: Delete, Drift: true, Meaning: "a stray file: removed"}
}

func keep(r Relation, meaning string) Decision {
	return Decision{Meaning: meaning, Provenance: r.Provenance}
}

// declined stays as it is, edited or not, until the want moves.
func declined(r Relation) Decision {
	if r.WantLive {
		return Decision{Action: Accept, Meaning: "now what the spec wants", Provenance: record.Adopted}
	}
	return Decision{Provenance: record.Adopted, Decline: true}
}

// unrecorded is a want that aisync never made true.
func unrecorded(r Relation, c Choice) Decision {
	d := Decision{Pending: true}
	switch {
	case !r.Live:
		d.Action, d.Meaning, d.Provenance = Create, "new", record.Created
	case r.Own == resource.SeedOnly:
		d.Action, d.Meaning, d.Provenance, d.Pending = Accept, "there already, and yours", record.Adopted, false
	case r.WantLive && r.Copy:
		d.Action, d.Meaning, d.Provenance, d.Pending = Accept, "already right: a copy of it", record.Created, false
	case r.WantLive:
		d.Action, d.Meaning, d.Provenance, d.Pending = Accept, "already right", record.Adopted, false
	case r.Former && r.Copy:
		d.Action, d.Meaning, d.Provenance = Update, "an earlier version of it, unedited: updated", record.Created
	case r.Former:
		d.Action, d.Meaning, d.Provenance, d.TakePrior = Update, "an earlier version of it, unedited: updated", record.Replaced, true
	case c.Force:
		d.Action, d.Meaning, d.Provenance, d.TakePrior = Update, "replaces what was there", record.Replaced, true
	case c.Merge && (r.CanMerge || r.CanMark):
		d.Action, d.Meaning, d.Provenance, d.TakePrior, d.MergeBoth = Update, "an edited copy of it: "+both(r), record.Replaced, true, true
	case c.Adopt:
		d.Action, d.Meaning, d.Provenance, d.Decline = Accept, "kept as it is", record.Adopted, true
	case r.CanMerge || r.CanMark:
		d.Action, d.Meaning = Clash, "there already: an edited copy of it; "+offer(r)
	default:
		d.Action, d.Meaning = Clash, "there already, and not made by aisync"
	}
	return d
}

// theirsMoved is a want that moved where the present value is the user's, or a
// merge: the user decided about another want, and is asked again.
func theirsMoved(r Relation, c Choice) Decision {
	d := Decision{Pending: true, Provenance: r.Provenance}
	switch {
	case r.Merged && r.CanMerge:
		d.Action, d.Meaning, d.MergeBoth = Update, "the spec moved: your edits stay", true
	case r.Merged && r.CanMark && c.Merge:
		d.Action, d.Meaning, d.MergeBoth = Update, "the spec moved: "+both(r), true
	case c.Force:
		d.Action, d.Meaning, d.Provenance = Update, "the spec moved: ours", overwritten(r.Provenance)
		d.TakePrior = r.Provenance == record.Adopted
	case c.Adopt:
		d.Action, d.Meaning, d.Decline = Accept, "the spec moved: yours", true
	case r.Merged && r.CanMark:
		d.Action, d.Meaning = Clash, "the spec moved where your edits are; "+offer(r)
	default:
		d.Action, d.Meaning = Clash, "kept as yours before, and the spec moved"
	}
	return d
}

// drifted was edited by hand or by a tool; the spec did not move.
func drifted(r Relation, c Choice) Decision {
	d := Decision{Drift: true, Provenance: r.Provenance}
	switch {
	case c.Restore || c.Force:
		d.Action, d.Meaning = Update, "edited since the last apply: restored"
	case c.Adopt:
		d.Action, d.Meaning, d.Decline = Accept, "edited since the last apply: kept", true
	default:
		d.Action, d.Meaning = Clash, "edited since the last apply"
	}
	return d
}

// bothMoved is a leaf that was edited while the spec moved.
func bothMoved(r Relation, c Choice) Decision {
	d := Decision{Drift: true, Pending: true, Provenance: r.Provenance}
	switch {
	case c.Force:
		d.Action, d.Meaning, d.Provenance = Update, "edited, and the spec moved: ours", overwritten(r.Provenance)
		d.TakePrior = r.Provenance == record.Adopted
	case c.Merge && (r.CanMerge || r.CanMark):
		d.Action, d.Meaning, d.MergeBoth = Update, "edited, and the spec moved: "+both(r), true
	case c.Adopt:
		d.Action, d.Meaning, d.Decline = Accept, "edited, and the spec moved: yours", true
	case r.CanMerge || r.CanMark:
		d.Action, d.Meaning = Clash, "edited, and the spec moved; "+offer(r)
	default:
		d.Action, d.Meaning = Clash, "edited, and the spec moved"
	}
	return d
}

// marked has conflict markers of an earlier merge: no runtime should read it,
// and only a person can resolve it.
func marked(r Relation, c Choice) Decision {
	d := Decision{Drift: true, Pending: !r.WantLast, Provenance: r.Provenance}
	switch {
	case c.Force || c.Restore:
		d.Action, d.Meaning, d.Provenance = Update, "has conflict markers: ours", overwritten(r.Provenance)
		d.TakePrior = r.Provenance == record.Adopted
	case c.Adopt:
		d.Action, d.Meaning, d.Decline = Accept, "has conflict markers: kept", true
	default:
		d.Action, d.Meaning = Clash, "has conflict markers of a merge: edit it until none are left"
	}
	return d
}

// both describes the result of a merge.
func both(r Relation) string {
	if r.CanMerge {
		return "both"
	}
	return "both, with conflict markers where they meet"
}

// offer describes what a merge would do.
func offer(r Relation) string {
	if r.CanMerge {
		return advice.MergeBoth
	}
	return advice.MergeBoth + ", with conflict markers where they meet"
}

// dropped is recorded and no longer wanted.
func dropped(r Relation, c Choice) Decision {
	d := Decision{Action: Release, Pending: true}
	switch {
	case !r.Live && !r.Blocked:
		d.Meaning, d.Drift = "gone already", true
	case r.Shared:
		d.Meaning = "another owner still wants it"
	case r.Provenance == record.Adopted || r.Refused:
		d.Meaning = "no longer in the spec, and yours"
	case r.Blocked || (!r.LiveLast || r.Merged) && !c.Force:
		d.Meaning, d.Warn, d.Drift = "no longer in the spec, but edited: left to you", true, true
	case r.Provenance == record.Replaced && !r.NoPrior:
		d.Action, d.Meaning = PutBack, "no longer in the spec: what was there before is put back"
	default:
		d.Action, d.Meaning = Delete, "no longer in the spec"
	}
	return d
}

// made is the provenance after aisync had to write again.
func made(p record.Provenance) record.Provenance {
	if p == record.Replaced {
		return record.Replaced
	}
	return record.Created
}

// overwritten is the provenance after aisync replaced what it had adopted.
func overwritten(p record.Provenance) record.Provenance {
	if p == record.Created {
		return record.Created
	}
	return record.Replaced
}
