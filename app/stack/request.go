package stack

import (
	"slices"

	"aisync.dev/aisync/reconcile"
)

// Request is what a plan is made for, besides the specs.
type Request struct {
	Scope             Scope
	Choice            reconcile.Choice
	Targets, Excludes []string
	Models            []string // with their names in other programs' folders
	Transfer          Transfer // of commands that fetch
	Untracked         bool     // look for files that no spec asks for
	Hold              func(reconcile.Address, reconcile.LeafKey) string
	Keep              func(reconcile.Target, reconcile.LeafKey) bool
}

// Transfer says how to fetch.
type Transfer struct {
	LimitRate   int64  // bytes per second in all; 0 is no limit
	Connections int    // ranges of one file at a time; 0: as many as make it faster
	Source      string // asked before those of the spec
}

// ModelRequest returns the request for the models ids and for their names in other
// programs' folders.
func (v *View) ModelRequest(ids []string) Request {
	ask := Request{Scope: ScopeHost, Models: ids}
	for _, id := range ids {
		ask.Targets = append(ask.Targets, "model:"+id)
	}
	return v.WithDependents(ask)
}

// WithDependents adds to ask what depends on its models: their names in other
// programs' folders, and the entries that name those. Services are left out.
func (v *View) WithDependents(ask Request) Request {
	reached := map[reconcile.Address]bool{}
	for _, id := range ask.Models {
		reached[reconcile.Address("model:"+id)] = true
	}
	for more := true; more; {
		more = false
		for _, d := range v.Declared.Declarations {
			depends := slices.ContainsFunc(d.DependsOn, func(a reconcile.Address) bool { return reached[a] })
			if depends && d.Target.Kind() != "service" && !reached[d.Target] {
				reached[d.Target], more = true, true
				ask.Targets = append(ask.Targets, string(d.Target))
			}
		}
	}
	return ask
}
