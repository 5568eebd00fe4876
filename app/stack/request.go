package stack

import (
	"slices"

	"aisync.dev/aisync/reconcile"
)

// Request is what a plan is asked for, beside the specs.
type Request struct {
	Scope             Scope
	Choice            reconcile.Choice
	Targets, Excludes []string
	Models            []string // with their names in other programs' folders
	Transfer          Transfer // of commands that fetch
	Strays            bool     // look for files that no spec asked for
	Hold              func(reconcile.Address, reconcile.LeafKey) string
}

// Transfer says how to fetch.
type Transfer struct {
	LimitRate   int64  // bytes per second in all; 0 is no limit
	Connections int    // the most ranges of one file at a time
	Source      string // asked before those of the spec
}

// AskFor is what a plan of these models, and of their names in other programs'
// folders, is asked for.
func (w *View) AskFor(ids []string) Request {
	ask := Request{Scope: ScopeHost, Models: ids}
	for _, id := range ids {
		ask.Targets = append(ask.Targets, "model:"+id)
	}
	return w.WithViews(ask)
}

// WithViews adds the names of the models that were asked for, and what tells
// other programs of those. A server of one is left to an apply.
func (w *View) WithViews(ask Request) Request {
	reached := map[reconcile.Address]bool{}
	for _, id := range ask.Models {
		reached[reconcile.Address("model:"+id)] = true
	}
	for more := true; more; {
		more = false
		for _, d := range w.Declared.Declarations {
			depends := slices.ContainsFunc(d.DependsOn, func(a reconcile.Address) bool { return reached[a] })
			if depends && d.Target.Kind() != "service" && !reached[d.Target] {
				reached[d.Target], more = true, true
				ask.Targets = append(ask.Targets, string(d.Target))
			}
		}
	}
	return ask
}
