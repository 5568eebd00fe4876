package edit

import (
	"context"
	"slices"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/reconcile"
)

// typed looks at the effects of the project before its spec is edited, and
// returns what remembers a yes to those that the edit brings and that are no
// more than server: the person has just typed it. What else the spec or a bundle
// makes of it is not among them, nor is anything where the project cannot be
// planned now.
func typed(ctx context.Context, a *cli.App, server effects.Server) func() error {
	look := func() (*stack.View, []effects.Effect) {
		w, err := a.Loaded(ctx, stack.ScopeProject, stack.Open)
		if err != nil {
			return nil, nil
		}
		p, err := w.Plan(ctx, stack.Request{Scope: stack.ScopeProject})
		if err != nil {
			return nil, nil
		}
		all, _ := w.Effects(p)
		return w, all
	}
	before, had := look()
	return func() error {
		after, list := look()
		if before == nil || after == nil {
			return nil
		}
		list = slices.DeleteFunc(slices.Clone(list), func(e effects.Effect) bool {
			return !server.Is(e) || slices.ContainsFunc(had, func(o effects.Effect) bool { return o.Digest == e.Digest })
		})
		if len(list) == 0 {
			return nil
		}
		return after.Agree(ctx, "aisync add", reconcile.ProjectOwner(after.Places.Project), list)
	}
}
