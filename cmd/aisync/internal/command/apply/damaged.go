package apply

import (
	"context"
	"fmt"
	"slices"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
)

// setDamagedAside reads the models that --restore and --target are about, and
// renames what is no longer what was verified, so that the plan finds it
// missing. It asks first, and returns what is asked for then: those models and
// all that have the same bytes, with their names. An earlier call may have been
// killed after it took some of those.
func setDamagedAside(ctx context.Context, a *cli.App, w *stack.Session, ask stack.Request, f cli.ApplyFlags) (stack.Request, error) {
	if !ask.Choice.Restore {
		return ask, nil
	}
	records, err := w.Store.OfKinds("model", "view")
	if err != nil {
		return ask, err
	}
	held := slices.DeleteFunc(model.Held(w.Declared.Declarations, records), func(h store.Held) bool { return !h.Wanted })
	named := slices.DeleteFunc(slices.Clone(held), func(h store.Held) bool {
		at := reconcile.Address("model:" + h.ID)
		return !matches(ask.Targets, at) || matches(ask.Excludes, at)
	})
	var total int64
	for _, h := range named {
		total += h.Size
	}
	for _, h := range held {
		if slices.ContainsFunc(named, func(n store.Held) bool { return n.ID == h.ID || n.SHA256 != "" && n.SHA256 == h.SHA256 }) {
			ask.Models, ask.Targets = append(ask.Models, h.ID), append(ask.Targets, "model:"+h.ID)
		}
	}
	bars := a.NewBars("verify", total)
	damaged, err := store.Damaged(ctx, w.FS, w.ModelStore(), named, func(f store.Held, done, total int64) { bars.File(f.ID+" "+f.Path.Base(), done, total) })
	bars.Close()
	if err != nil || len(damaged) == 0 {
		return ask, err
	}
	for _, c := range damaged {
		a.Say("aisync: model %s: %s is damaged: it is not what was verified", termtext.Safe(c.ID), termtext.Safe(w.Places.Physical(c.Where)))
	}
	if a.Flags.Offline {
		return ask, fmt.Errorf("fetching %s again %w; nothing was changed", quantity.Count(len(damaged), "damaged file"), reconcile.ErrOffline)
	}
	if err := a.Confirm(f.Yes, "Rename what is damaged, so that it is fetched again?"); err != nil {
		return ask, err
	}
	done := map[string]bool{}
	for _, c := range damaged {
		if done[string(c.Where)] {
			continue
		}
		done[string(c.Where)] = true
		same := slices.DeleteFunc(slices.Clone(held), func(h store.Held) bool { return h.SHA256 != c.SHA256 })
		to, err := store.SetAside(w.FS, w.ModelStore(), c, same)
		if err != nil {
			return ask, err
		}
		a.Say("aisync: model %s: its damaged file is %s now, until aisync models gc", termtext.Safe(c.ID), termtext.Safe(w.Places.Physical(to)))
	}
	return ask, nil
}
