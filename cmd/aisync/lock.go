package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// lockDoc is lock --json; see docs/json.md.
type lockDoc struct {
	FormatVersion string          `json:"format_version"`
	Changes       []string        `json:"changes"` // in words
	Moved         []sourceMove    `json:"moved"`   // bundle sources, file by file
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
				return &usageError{fmt.Sprintf("lock: %q: only what --update moves is named", safe(ids[0])), "aisync lock --update " + safe(ids[0])}
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
	pin := w.newPinner(Request{Scope: s})
	pin.strict = true
	named := map[string]bool{}
	pin.moving = func(kind, id string) bool {
		for _, want := range ids {
			if want == id || want == kind || (kind == "model" || kind == "files") && w.isFileOf(want, id) || kind == "package" && w.isPackageOf(want, id) {
				named[want] = true
				return true
			}
		}
		return update && len(ids) == 0
	}
	if err := w.declare(ctx, pin); err != nil {
		return err
	}
	for _, id := range ids {
		if !named[id] {
			return fmt.Errorf("lock --update %s: nothing of that name is pinned here; nothing was changed", id)
		}
	}
	w.dropStale()
	if err := w.saveLocks(ctx); err != nil {
		return err
	}
	slices.Sort(pin.said)
	if a.g.json {
		doc := lockDoc{FormatVersion: viewVersion, Changes: orEmpty(pin.said), Moved: orEmpty(pin.moves), Pins: []reconcile.Pin{}}
		for _, l := range w.locks() {
			doc.Pins = append(doc.Pins, l.lock.Pins()...)
		}
		return a.writeJSON(doc)
	}
	for _, line := range pin.said {
		a.printf("%s\n", safe(line))
	}
	slices.SortFunc(pin.moves, func(x, y sourceMove) int { return strings.Compare(x.Source, y.Source) })
	for _, m := range pin.moves {
		a.printMove(m, mode)
	}
	if len(pin.said) == 0 {
		a.printf("Everything is pinned already.\n")
	}
	return nil
}

// isFileOf reports whether the file called name belongs to the model id.
func (w *View) isFileOf(id, name string) bool {
	m, ok := w.Catalog.Model(id)
	if !ok {
		return false
	}
	for _, q := range m.Quants {
		if q.Repo != "" && atRevision(q.Repo, q.Revision)+":"+q.Name == name {
			return true
		}
		files, _ := withShards(q.Files) // a name that is none of a shard has no pin
		if slices.ContainsFunc(files, func(f spec.ModelFile) bool { return modelName(f) == name }) {
			return true
		}
	}
	return false
}

// locks are the locks of the owners that take part.
func (w *View) locks() []*lockFile {
	var out []*lockFile
	if w.Has(reconcile.HostOwner) {
		out = append(out, w.HostLock)
	}
	if w.ProjectLock != nil && w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		out = append(out, w.ProjectLock)
	}
	return out
}

// dropStale unpins what no spec names any more.
func (w *View) dropStale() {
	if h := w.Spec.Host; h != nil && w.Has(reconcile.HostOwner) {
		w.HostLock.lock.Unpin(func(p reconcile.Pin) bool {
			return p.Kind != "bundle" || slices.ContainsFunc(w.hostSources(), func(name string) bool { return name == p.Name })
		})
	}
	if p := w.Spec.Project; p != nil && w.ProjectLock != nil && w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		w.ProjectLock.lock.Unpin(func(pin reconcile.Pin) bool {
			if pin.Kind != "bundle" {
				return true
			}
			for _, s := range p.Sources {
				if s.Name == pin.Name {
					return true
				}
			}
			return false
		})
	}
}

func (w *View) hostSources() []string {
	var out []string
	for _, b := range w.Spec.Host.Bundles {
		out = append(out, b.Name)
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
	if _, err := w.Engine.Apply(ctx, w.WriteEnv(nil), w.Store, &reconcile.Plan{}, reconcile.ApplyOptions{ID: w.ApplyID, Command: "lock", Version: versionText()}); err != nil {
		return w.ProjectLock.unwritable(err)
	}
	return w.FS.Flush()
}
