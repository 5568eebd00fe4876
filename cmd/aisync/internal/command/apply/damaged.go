package apply

import (
	"context"
	"fmt"
	"slices"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
)

// setDamagedAside reads the models that --restore and --target name, and renames
// damaged files, so that the plan finds them missing and fetches them again. It asks
// first. It returns ask extended by all models with the same bytes, and by their
// views: an earlier call may have been killed after it renamed some of them.
func setDamagedAside(ctx context.Context, a *cli.App, w *stack.Session, ask stack.Request, f cli.ApplyFlags) (stack.Request, error) {
	if !ask.Choice.Restore {
		return ask, nil
	}
	files, err := w.ModelFiles(w.Declared.Declarations)
	if err != nil {
		return ask, err
	}
	held := stack.Wanted(files)
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
		a.Say("aisync: model %s: %s is damaged: it differs from what was verified", termtext.Safe(c.ID), termtext.Safe(w.Places.Physical(c.Where)))
	}
	if a.Flags.Offline {
		return ask, fmt.Errorf("fetch %s again: %w; nothing was changed", quantity.Count(len(damaged), "damaged file"), reconcile.ErrOffline)
	}
	if err := a.Confirm(f.Yes, "Rename the damaged files and fetch them again?"); err != nil {
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
		a.Say("aisync: model %s: moved its damaged file to %s; aisync models gc removes it", termtext.Safe(c.ID), termtext.Safe(w.Places.Physical(to)))
	}
	return ask, nil
}
