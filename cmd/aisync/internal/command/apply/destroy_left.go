package apply

import (
	"context"
	"os"
	"strings"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
)

// sayLeft names what a destroy of the host leaves on the machine, as far as it is
// there, and how it goes.
func sayLeft(ctx context.Context, a *cli.App, w *stack.Session) {
	if !w.Has(reconcile.HostOwner) {
		return
	}
	v := *w.View
	if s, err := w.LoadSpec(ctx, schema.Options{Scope: schema.HostOnly}); err == nil {
		v.Spec = s // which names the store; one that cannot be read names none
	}
	p := w.Places
	var left []string
	for _, place := range []struct{ what, dir string }{
		{"your spec", p.Config},
		{"what aisync knows and has backed up", p.Physical(p.State)},
		{"fetched sources", p.Physical(p.Cache)},
		{"models (aisync models gc removes them first)", p.Physical(v.ModelStore())},
	} {
		if entries, err := os.ReadDir(place.dir); err == nil && len(entries) > 0 {
			left = append(left, place.what+" in "+p.Anywhere(place.dir))
		}
	}
	if len(left) > 0 {
		a.Hint("Left here, to delete by hand: %s.", termtext.Safe(strings.Join(left, "; ")))
	}
	projects := 0
	owners, err := w.Store.Owners()
	if err != nil {
		a.Say("aisync: which projects have files of aisync is not known: %s", termtext.Safe(err.Error()))
		return
	}
	for _, o := range owners {
		if o != reconcile.HostOwner && len(w.Store.Records(o)) > 0 {
			projects++
		}
	}
	if projects > 0 {
		a.Hint("%s here still have files of aisync; in each: aisync destroy --scope project", quantity.Count(projects, "project"))
	}
}
