package edit

import (
	"context"
	"slices"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/reconcile"
)

// approveTyped notes the effects of the project before its spec is edited. It returns
// a function that approves, after the edit, the new effects of server: the person has
// just typed it. It approves nothing else, and nothing if the project cannot be
// planned before or after.
func approveTyped(ctx context.Context, a *cli.App, server effects.Server) func() error {
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
