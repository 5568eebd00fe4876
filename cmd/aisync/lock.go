package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// lockDoc is lock --json; see docs/json.md.
type lockDoc struct {
	FormatVersion string          `json:"format_version"`
	Changes       []string        `json:"changes"` // in words
	Moved         []pin.Diff      `json:"moved"`   // bundle sources, file by file
	Pins          []reconcile.Pin `json:"pins"`
}

func lockCommand(a *app) *cobra.Command {
	var (
		s      = ScopeAll
		f      applyFlags
		update bool
	)
	cmd := &cobra.Command{
		Use:   "lock [--update [ID...]]",
		Short: "pin every source, model, package and automatic choice to what it is now",
		Long: `Resolves what the specs name to something that cannot move: a git source to a
commit and the digest of its files, a model to a commit, size and sha256, quant:
"auto" to a quant, a package to a version, and writes it to aisync.lock beside
the spec. What is pinned already stays as it is; --update moves all of it, or
what is named, and shows what moved: of a bundle, how its files differ. A folder is never pinned: it is used as it
is.

It writes aisync.lock, and fetches git and archive sources into the cache.`,
		Example: `  $ aisync lock
  $ aisync lock --update rulesets`,
		Annotations: map[string]string{"effect": "writes"},
		RunE: func(cmd *cobra.Command, ids []string) error {
			if len(ids) > 0 && !update {
				return &usageError{fmt.Sprintf("lock: %q: only what --update moves is named", termtext.Safe(ids[0])), "aisync lock --update " + termtext.Safe(ids[0])}
			}
			return a.lock(cmd.Context(), s, f, update, ids)
		},
	}
	s.flag(cmd)
	cmd.Flags().DurationVar(&f.lockTimeout, "lock-timeout", 0, "wait up to `TIME` for another apply to end, such as 30s")
	cmd.Flags().StringVar(&f.diff, "diff", string(diffShort), "`HOW` much of what moved in bundles: short, full, none")
	cmd.Flags().BoolVar(&update, "update", false, "move pins: of the sources and models that are named, or all")
	return cmd
}

func (a *app) lock(ctx context.Context, s Scope, f applyFlags, update bool, ids []string) error {
	mode, err := parseDiffMode(f.diff)
	if err != nil {
		return err
	}
	w, err := a.held(ctx, s, f.lockTimeout, "aisync lock", HoldLoaded)
	if err != nil {
		return err
	}
	defer w.Release()
	if err := w.load(ctx); err != nil {
		return err
	}
	if err := w.recover(ctx); err != nil {
		return err
	}
	r := w.writing(pin.Lock)
	r.Update = pin.Update{All: update && len(ids) == 0, IDs: ids}
	if err := w.declare(ctx, r); err != nil {
		return err
	}
	res, err := r.Result()
	if err != nil {
		return err
	}
	if len(res.Unmatched) > 0 {
		return fmt.Errorf("lock --update %s: nothing of that name is pinned here; nothing was changed", res.Unmatched[0])
	}
	for _, f := range w.locks() {
		if names, ok := r.Sources(f); ok {
			f.KeepSources(names)
		}
	}
	if err := w.saveLocks(ctx); err != nil {
		return err
	}
	var changes []string
	for _, c := range res.Changes {
		changes = append(changes, changeText(c))
	}
	slices.Sort(changes)
	if a.g.json {
		doc := lockDoc{FormatVersion: viewVersion, Changes: orEmpty(changes), Moved: orEmpty(res.Diffs), Pins: []reconcile.Pin{}}
		for _, f := range w.locks() {
			doc.Pins = append(doc.Pins, f.Lock.Pins()...)
		}
		return a.writeJSON(doc)
	}
	for _, line := range changes {
		a.printf("%s\n", termtext.Safe(line))
	}
	for _, d := range res.Diffs {
		a.printSourceDiff(d, mode)
	}
	if len(changes) == 0 {
		a.printf("Everything is pinned already.\n")
	}
	return nil
}

// locks are the locks of the owners that take part.
func (w *View) locks() []*pin.File {
	var out []*pin.File
	if w.Has(reconcile.HostOwner) {
		out = append(out, w.HostLock)
	}
	if w.ProjectLock != nil && w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		out = append(out, w.ProjectLock)
	}
	return out
}

// saveLocks writes both locks. The project's goes through the engine, which
// keeps the targets in it.
func (w *Session) saveLocks(ctx context.Context) error {
	if err := w.savePins(); err != nil {
		return err
	}
	if w.ProjectLock == nil || !w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		return nil
	}
	if _, err := w.Engine.Apply(ctx, w.WriteEnv(nil), w.Store, &reconcile.Plan{}, reconcile.ApplyOptions{ID: w.ApplyID, Command: "lock", Version: w.Version}); err != nil {
		return pinStep(w.ProjectLock.NotWritable(err))
	}
	return w.FS.Flush()
}
