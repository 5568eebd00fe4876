package main

import (
	"context"
	"fmt"
	"slices"

	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
)

// setDamagedAside reads the models that --restore and --target are about, and
// renames what is no longer what was verified, so that the plan finds it
// missing. It asks first, and returns the models whose names are gone.
func (a *app) setDamagedAside(ctx context.Context, w *world, ask asked, f applyFlags) ([]string, error) {
	if !ask.choice.Restore {
		return nil, nil
	}
	var records []reconcile.Record
	for _, o := range w.store.Owners() {
		records = append(records, w.store.Records(o)...)
	}
	var total int64
	held := slices.DeleteFunc(model.Held(w.declared.Declarations, records), func(h store.Held) bool {
		at := reconcile.Address("model:" + h.ID)
		return !h.Wanted || !matches(ask.targets, at) || matches(ask.excludes, at)
	})
	for _, h := range held {
		total += h.Size
	}
	bars := a.newBars("verify", total)
	damaged, err := store.Damaged(ctx, w.fs, w.modelStore(), held, func(f store.Held, done, total int64) { bars.file(f.ID+" "+f.Path.Base(), done, total) })
	bars.close()
	if err != nil || len(damaged) == 0 {
		return nil, err
	}
	for _, c := range damaged {
		a.say("aisync: model %s: %s is damaged: it is not what was verified", safe(c.ID), safe(w.places.physical(c.Where)))
	}
	if a.g.offline {
		return nil, fmt.Errorf("fetching %s again %w; nothing was changed", plural(len(damaged), "damaged file"), reconcile.ErrOffline)
	}
	if err := a.confirm(f.yes, "Rename what is damaged, so that it is fetched again?"); err != nil {
		return nil, err
	}
	var ids []string
	for _, c := range damaged {
		to, err := store.SetAside(w.fs, w.modelStore(), c)
		if err != nil {
			return nil, err
		}
		a.say("aisync: model %s: its damaged file is %s now, until aisync models gc", safe(c.ID), safe(w.places.physical(to)))
		ids = append(ids, c.ID)
	}
	return slices.Compact(ids), nil
}
