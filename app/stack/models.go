package stack

import (
	"context"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// ModelDecls asks the host's spec for its models alone: a bundle that is not
// at hand is no reason not to list them.
func (w *View) ModelDecls(ctx context.Context, r *pin.Resolver) (adapter.Decls, error) {
	f, err := w.Facts()
	if err != nil {
		return adapter.Decls{}, err
	}
	h := w.Spec.Host
	return adapter.Host{
		Spec:   &spec.Host{Name: h.Name, Pos: h.Pos, Dir: h.Dir, Builtin: h.Builtin, Store: h.Store, Views: h.Views, Models: h.Models},
		Models: w.Catalog.Models(), Facts: &f, Home: w.Places.Home, Programs: w.Programs(),
		Pick: func(use spec.ModelUse, m spec.Model) (spec.Quant, string, error) { return w.pickModel(ctx, r, use, m) },
	}.Declare(ctx)
}

// ModelStore is the folder of all models.
func (w *View) ModelStore() fsys.LogicalPath {
	dir := "~/.local/share/llm/models"
	if h := w.Spec.Host; h != nil && h.Store.Value != "" {
		dir = h.Store.Value
	}
	return reconcile.Address("dir:" + dir).Path(w.Places.Home)
}
