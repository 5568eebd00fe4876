package reconcile

import (
	"cmp"
	"strings"
)

// Engine plans and applies with a fixed list of providers.
type Engine struct {
	Providers []Provider
	Parallel  int // changes applied at once; 0 means 8
}

// Input is what a plan is made from.
type Input struct {
	Declarations []Declaration
	Owners       []Owner // owners whose records this plan may prune
	Unsupported  []Unsupported
	Notes        []Note
	Choice       Choice
	Targets      []string                // only these addresses, and what they depend on; all when empty
	Excludes     []string                // not these, nor what depends on them
	Strays       []Address               // files in aisync's folders that no spec wants
	Duplicates   map[Address]Fingerprint // files that no spec wants, and that Choice.TakeOver removes if they are like this
	Dropped      string                  // why nothing is wanted any more, if the spec did not move
	// Hold returns why a leaf must not be written now; "" if it may be. A held
	// leaf is undecided. May be nil.
	Hold func(Address, LeafKey) string
	// Keep makes a plan that changes records alone: of the leaves that it names,
	// and of none that would be written. All others wait. May be nil.
	Keep func(Target, LeafKey) bool
	// Older returns why the source of what is wanted of a leaf, or of what is no
	// longer wanted, is older than its record; "" if it is not, or unknown. Such a
	// leaf is undecided, whatever Choice says. May be nil.
	Older func(Target, LeafChange) string
}

// Plan is what an apply would do.
type Plan struct {
	Changes     []Change // every resource, even without changes; sorted by address
	Conflicts   []Conflict
	Unsupported []Unsupported
	Notes       []Note
	Owners      []Owner
	Choice      Choice
	Partial     bool // made with targets or excludes
}

// Result is what an apply did.
type Result struct {
	ID      string // of the apply, for rollback; "" when nothing was written
	Done    []Address
	Failed  []Problem
	Skipped []Problem // with the reason: depends on a failed one, undecided
}

// reason inserts why things are dropped into a decision's meaning.
func (in Input) reason(meaning string) string {
	if in.Dropped == "" {
		return meaning
	}
	return strings.ReplaceAll(meaning, "no longer in the spec", in.Dropped)
}

// held returns why key of t must not be written now; "" if it may be.
func (in Input) held(t Target, key LeafKey) string {
	if in.Hold == nil {
		return ""
	}
	why := in.Hold(t.Resource.Address, key)
	for _, a := range t.Aliases {
		why = cmp.Or(why, in.Hold(a, key))
	}
	return why
}

// older returns why what is wanted of l must not be made true: its source is
// older than its record; "" if it may be.
func (in Input) older(t Target, l LeafChange) string {
	if in.Older == nil || !l.Rel.Regresses() || l.Last == nil && t.Resource.Local {
		return ""
	}
	return in.Older(t, l)
}

// provider returns the provider of a kind, or nil.
func (e *Engine) provider(kind string) Provider {
	for _, p := range e.Providers {
		if p.Kind() == kind {
			return p
		}
	}
	return nil
}
