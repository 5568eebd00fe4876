package stack

import (
	"context"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// ModelDecls declares the models of the host alone. A bundle that is not on this
// machine does not matter.
func (v *View) ModelDecls(ctx context.Context, r *pin.Resolver) (adapter.Decls, error) {
	f, err := v.Facts()
	if err != nil {
		return adapter.Decls{}, err
	}
	h := v.Spec.Host
	return adapter.Host{
		Spec:   &spec.Host{Name: h.Name, Pos: h.Pos, Dir: h.Dir, Builtin: h.Builtin, Store: h.Store, Mirrors: h.Mirrors, Views: h.Views, Models: h.Models},
		Models: v.Catalog.Models(), Facts: &f, Home: v.Places.Home, Programs: v.Programs(),
		Pick: func(use spec.ModelUse, m spec.Model) (spec.Quant, string, error) { return v.pickModel(ctx, r, use, m) },
	}.Declare(ctx)
}

// ModelStore returns the folder of all models.
func (v *View) ModelStore() fsys.LogicalPath {
	dir := "~/.local/share/llm/models"
	if h := v.Spec.Host; h != nil && h.Store.Value != "" {
		dir = h.Store.Value
	}
	return reconcile.Address("dir:" + dir).Path(v.Places.Home)
}
