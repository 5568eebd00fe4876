// Package sourceage tells whether a project's sources are older than what the
// project was last made from. Such a source is a folder of a git work tree, in which
// two machines may stand at different commits. It writes nothing but pins in memory.
// Call Folders.Ages first.
package sourceage

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/fetch/git"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
)

// kind is the kind of the pins that say which commit of a source in a
// folder the project's files were last made from. Such a pin fetches nothing: by
// it an older checkout on another machine is known to be older.
const kind = "folder"

// source is a source of the project that is a folder of a git work tree
// other than the project's.
type source struct {
	tree  *bundle.Tree
	from  []reconcile.Position // of the bundles that the project takes from it
	state git.Checkout
	dirty func() bool // has uncommitted changes

	locked reconcile.Pin // the state that the project was last made from; zero if unknown
	order  git.Order     // of state to locked
}

// Folders are the sources of one project.
type Folders struct {
	Lock    *pin.File // the project's; nil where there is no project
	Used    []adapter.UsedSource
	Project string // its folder
}

// sources returns those that can be older than what the project committed; with
// lockedOnly, those of which the lock holds a state. A folder outside git, or in
// the project's own repository, has no age.
func (d Folders) sources(ctx context.Context, lockedOnly bool) []*source {
	if d.Lock == nil {
		return nil
	}
	byTree := map[*bundle.Tree]*source{}
	var out []*source
	for _, used := range d.Used {
		t := used.Tree
		if f := byTree[t]; f != nil {
			f.from = append(f.from, used.Origin)
			continue
		}
		if bundle.Remote(t.URL) || !filepath.IsAbs(t.Dir) {
			continue
		}
		known, locked := d.Lock.Lock.Pin(kind, t.Name, "")
		if lockedOnly && !locked {
			continue
		}
		state, err := git.LastChange(ctx, t.Dir)
		if err != nil || within(state.Top, d.Project) {
			continue
		}
		f := &source{tree: t, from: []reconcile.Position{used.Origin}, state: state, locked: known}
		f.dirty = sync.OnceValue(func() bool { return dirty(ctx, t) })
		if locked {
			if f.order, err = state.Compare(ctx, t.Dir, known.Values["commit"], f.lockedDate()); err != nil {
				f.order = git.Unknown
			}
		}
		byTree[t] = f
		out = append(out, f)
	}
	return out
}

// within reports whether dir lies in the work tree top, links resolved.
func within(top, dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(top, dir)
	return err == nil && filepath.IsLocal(rel)
}

// dirty reports whether what t could install differs from its last commit. What
// cannot be read counts as different.
func dirty(ctx context.Context, t *bundle.Tree) bool {
	files, err := t.Files()
	if err != nil {
		return true
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Src)
	}
	changed, err := git.Dirty(ctx, t.Dir, names)
	return changed || err != nil
}

func (f *source) lockedDate() time.Time {
	t, _ := time.Parse(time.RFC3339, f.locked.Values["date"]) // a date that is none is before every other
	return t
}

// pin returns the pin of f's present state.
func (f *source) pin() reconcile.Pin {
	values := map[string]string{"commit": f.state.Commit, "date": f.state.Date.Format(time.RFC3339)}
	if f.dirty() {
		values["dirty"] = "true"
	}
	return reconcile.Pin{Kind: kind, Name: f.tree.Name, Values: values}
}

// lacksUncommitted reports whether the project was made from f's present commit
// with changes that are not there.
func (f *source) lacksUncommitted() bool {
	return f.locked.Values["dirty"] != "" && f.locked.Values["commit"] == f.state.Commit && !f.dirty()
}

// age returns why f is older than what l's record was made from; "" if it is not.
func (f *source) age(l reconcile.LeafChange, live reconcile.Fingerprint) string {
	commit, date := f.locked.Values["commit"], f.lockedDate().Format(time.DateOnly)
	commit = commit[:min(12, len(commit))]
	switch {
	case f.order == git.Before:
		return fmt.Sprintf("its source %s is older: commit %.12s of %s; this project committed %s of %s", f.tree.Name, f.state.Commit, f.state.Date.Format(time.DateOnly), commit, date)
	case f.order == git.Beside, f.order == git.Unknown && !knows(l, live):
		return fmt.Sprintf("its source %s lacks commit %s of %s, from which this project was made", f.tree.Name, commit, date)
	case f.lacksUncommitted() && (l.Last == nil || l.Last.Claimed): // else this machine wrote it: its changes were undone
		return fmt.Sprintf("its source %s lacks uncommitted changes of another machine to commit %s, from which this project was made", f.tree.Name, commit)
	}
	return ""
}

// knows reports whether the source of l's want has, or had, the text that is
// there now.
func knows(l reconcile.LeafChange, live reconcile.Fingerprint) bool {
	if l.Want == nil || live == "" {
		return false
	}
	s, ok := l.Want.Body.(reconcile.Sourced)
	return ok && s.Held(live)
}

// Ages finds the sources of a project that are older than what it committed.
type Ages struct {
	sources func() []*source
	held    map[*source]bool // sources of which something is not done
}

// Ages returns the ages of the sources, which are looked up when first asked for.
func (d Folders) Ages(ctx context.Context) *Ages {
	return &Ages{
		sources: sync.OnceValue(func() []*source { return d.sources(ctx, true) }),
		held:    map[*source]bool{},
	}
}

// Of returns why l must stay as it is, as reconcile.Input.Older does. What is no
// longer wanted may have come from any source.
func (a *Ages) Of(t reconcile.Target, l reconcile.LeafChange) string {
	var live reconcile.Fingerprint
	if l.Last != nil {
		live = l.Last.Live
	}
	if l.Want == nil && !ofProject(t.Resource.Address) {
		return ""
	}
	for _, f := range a.sources() {
		if l.Want != nil && !comesFrom(*l.Want, f) {
			continue
		}
		if why := f.age(l, live); why != "" {
			a.held[f] = true
			return why
		}
	}
	return ""
}

// comesFrom reports whether a bundle of f asks for l.
func comesFrom(l reconcile.Leaf, f *source) bool {
	return slices.ContainsFunc(l.Origin, func(p reconcile.Position) bool { return slices.Contains(f.from, p) })
}

// ofProject reports whether a is in a project's folder or its git configuration.
func ofProject(a reconcile.Address) bool { return a.InProject() || a.Kind() == "gitconfig" }

// Notes returns what to do about each source for which Of gave a reason. short is a
// path as the person sees it.
func (a *Ages) Notes(short func(string) string) []reconcile.Note {
	if len(a.held) == 0 {
		return nil
	}
	var out []reconcile.Note
	for _, f := range a.sources() {
		if !a.held[f] {
			continue
		}
		dir := short(f.tree.Dir)
		pull := "git -C " + shellquote.Terminal(dir) + " pull"
		if strings.HasPrefix(dir, "~/") {
			pull = "git -C ~/" + shellquote.Terminal(dir[2:]) + " pull"
		}
		what := "does not contain what this project committed (commit %s of %s)"
		if f.order == git.Before {
			what = "is older than what this project committed (commit %s of %s)"
		} else if f.lacksUncommitted() {
			what = "does not contain what this project committed (uncommitted changes to commit %s of %s); commit and push them where they were made"
			pull = "then " + pull
		}
		commit := f.locked.Values["commit"]
		text := fmt.Sprintf("the source %s (%s) "+what+": nothing from it is changed here; run %s, or aisync lock --update %s to go back to it",
			f.tree.Name, dir, commit[:min(12, len(commit))], f.lockedDate().Format(time.DateOnly), pull, f.tree.Name)
		out = append(out, reconcile.Note{Warning: true, Text: text, Origin: []reconcile.Position{reconcile.Position(f.tree.Pos)}})
	}
	return out
}

// Record puts into the project's lock the states of the sources from which p makes
// something new, before p is applied.
func (d Folders) Record(ctx context.Context, p *reconcile.Plan) {
	for _, f := range d.sources(ctx, false) {
		if f.makes(p) {
			d.Lock.Lock.SetPin(f.pin())
		}
	}
	if len(d.Used) > 0 {
		d.Lock.Lock.Unpin(func(x reconcile.Pin) bool {
			return x.Kind != kind || slices.ContainsFunc(d.Used, func(u adapter.UsedSource) bool { return u.Tree.Name == x.Name && !bundle.Remote(u.Tree.URL) })
		})
	}
}

// makes reports whether p makes something new from f, and leaves nothing undone
// because f is older.
func (f *source) makes(p *reconcile.Plan) bool {
	makes := false
	for _, c := range p.Changes {
		for _, l := range c.Leaves {
			switch mine := l.Want == nil && ofProject(c.Target.Resource.Address) || l.Want != nil && comesFrom(*l.Want, f); {
			case mine && l.Rel.Older:
				return false
			case mine && l.Writes() && !l.Rel.WantLast:
				makes = true
			}
		}
	}
	return makes
}

// Update makes the present states of the sources the ones that the project is made
// from: those that u names, or with u.All those that are not
// older. It returns what moved, and the names that it knows.
func (d Folders) Update(ctx context.Context, u pin.Update) (moved []pin.Change, known []string) {
	for _, f := range d.sources(ctx, true) {
		named := slices.Contains(u.IDs, f.tree.Name)
		known = append(known, f.tree.Name)
		older := f.order != git.Contains && f.order != git.After || f.lacksUncommitted()
		now := f.pin()
		if !named && (!u.All || older) || maps.Equal(now.Values, f.locked.Values) {
			continue
		}
		d.Lock.Lock.SetPin(now)
		moved = append(moved, pin.Change{Old: f.locked, New: now})
	}
	return moved, known
}
