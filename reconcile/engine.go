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
	Owners       []Owner // whose records this plan may prune
	Unsupported  []Unsupported
	Notes        []Note
	Choice       Choice
	Targets      []string  // only these addresses, and what they depend on; all when empty
	Excludes     []string  // not these, nor what depends on them
	Strays       []Address // files that nobody asked for, in folders that are ours
	Dropped      string    // why nothing is wanted any more, where it is not the spec that moved
	// Hold says why a leaf must not be written now; "" where it may. What is held
	// is undecided. May be nil.
	Hold func(Address, LeafKey) string
}

// Plan says what an apply would do.
type Plan struct {
	Changes     []Change // every resource, also those with nothing to do; sorted by address
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

// reason puts why things are dropped into a decision's words.
func (in Input) reason(meaning string) string {
	if in.Dropped == "" {
		return meaning
	}
	return strings.ReplaceAll(meaning, "no longer in the spec", in.Dropped)
}

// held says why key of t must not be written now; "" where it may.
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

// provider returns the provider of a kind, or nil.
func (e *Engine) provider(kind string) Provider {
	for _, p := range e.Providers {
		if p.Kind() == kind {
			return p
		}
	}
	return nil
}
