package adapter

import (
	"context"
	"slices"
	"sort"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Project is what the declarations of a project depend on: its spec, its
// sources, the catalog. Host and facts are left out, so that two people write
// the same bytes.
type Project struct {
	Spec     *spec.Project
	Runtimes []spec.Runtime // the whole catalog
	Sources  *bundle.Sources
	Lent     []spec.Source // bundle sources of the host, for names that the project does not know; used with a warning
	Git      bool          // IsGit(Spec.Dir)
	Notes    Notes         // as ReadNotes returns them; nil: unknown, and nothing is linked
	NoLinks  bool          // links cannot be had below Spec.Dir
	Hooks    func() Hooks  // called at most once for the active git hooks; nil: none
}

// Declare returns everything the project's spec asks of runtimes, with the
// project as owner. The error joins all problems; the declarations are
// incomplete then.
func (p Project) Declare(ctx context.Context) (Decls, error) {
	b := newBuilder(reconcile.ProjectOwner(p.Spec.Dir))
	b.dir = p.Spec.Dir
	b.notesHere, b.noLinks, b.tried = p.Notes, p.NoLinks, p.Notes.trial()
	var places []place
	for _, r := range p.Spec.Runtimes {
		if rt, ok := b.lookup(r.Value, r.Pos, p.Runtimes); ok {
			places = append(places, place{rt, rt.Project, from(r.Pos), program(&rt, p.Runtimes)})
		}
	}
	sortPlaces(places)
	wishes := p.requests(ctx, b)
	for _, w := range wishes {
		b.addRules(w, w.part.Rules, "")
		for _, pl := range places {
			b.part(pl, w)
		}
		b.neutral(places, w)
		b.skills(places, w.label, w.origin, w.part.Skills(), true)
		b.seeds(places, w)
		b.ignores(w)
		b.agents(w, p.Spec.Agents.Sessions.On)
		b.hookNotes(places, w)
		b.problems(w.origin, w.label, w.part.Problems)
	}
	b.placeRules(places)
	if !p.Spec.NoGitHooks {
		b.gitHooks(wishes, p.Git, p.Hooks)
	}
	b.ownSettings(places, p.Spec.Settings, func(string) bool { return false })
	b.mcp(places, p.Spec.MCP)
	b.finish(places)
	b.reportWaits()
	b.unshared(places)
	return b.done()
}

// finish declares what depends on everything else.
func (b *builder) finish(places []place) {
	b.makeBridges(places)
	b.commonFiles()
	b.writeModules()
	b.writeChecks()
	for _, p := range places {
		b.bringIn(p, places)
		b.limits(p)
		b.always(p)
	}
}

// PinnedSource names a bundle source at one pin; "" without a pin, as for a
// folder, which may change at any time.
func PinnedSource(url, pin string) string {
	if pin == "" {
		return ""
	}
	return url + "@" + pin
}

// requests finds the bundles that the project names. The generic rules of a
// source come once, before its first bundle.
func (p Project) requests(ctx context.Context, b *builder) []bundleRequest {
	var out []bundleRequest
	cores := map[*bundle.Tree]int{}
	add := func(kind bundle.Kind, ref spec.BundleRef) {
		found, err := p.Sources.Find(ctx, kind, ref, p.sources(b, ref))
		if err != nil {
			b.blame(err)
			return
		}
		origin := from(ref.Pos)
		for _, label := range []string{".", ref.Name} {
			b.sources[found.Tree.Name+"//"+label] = PinnedSource(found.Tree.URL, found.Tree.Pinned)
		}
		if kind == bundle.Language {
			if i, ok := cores[found.Tree]; ok {
				out[i].origin = joined(out[i].origin, origin)
			} else if core, err := found.Tree.Core(); err != nil {
				b.fail(origin, "bundle source %q: %w", found.Tree.Name, err)
			} else {
				cores[found.Tree] = len(out)
				out = append(out, bundleRequest{found.Tree.Name + "//.", core, origin})
			}
		}
		if found.Part.Kind != bundle.Core {
			out = append(out, bundleRequest{found.Tree.Name + "//" + ref.Name, found.Part, origin})
		}
	}
	for _, ref := range p.Spec.Bundles {
		add(bundle.Language, ref)
	}
	for _, ref := range p.Spec.Teams {
		add(bundle.Team, ref)
	}
	return out
}

// sources are the project's. For a name that only the host knows, the host's
// source is used with a warning, because a teammate may not have it.
func (p Project) sources(b *builder, ref spec.BundleRef) []spec.Source {
	named := func(s spec.Source) bool { return s.Name == ref.Source }
	if ref.Source == "" || slices.ContainsFunc(p.Spec.Sources, named) {
		return p.Spec.Sources
	}
	i := slices.IndexFunc(p.Lent, named)
	if i < 0 {
		return p.Spec.Sources
	}
	b.note(true, from(ref.Pos), "source %s is known to this host only; name it in the project's sources, so that everyone gets the same files", ref.Source)
	return append(slices.Clone(p.Spec.Sources), p.Lent[i])
}

// lookup finds a runtime in the catalog.
func (b *builder) lookup(id string, pos spec.Position, catalog []spec.Runtime) (spec.Runtime, bool) {
	if rt := start.Find(catalog, id); rt != nil {
		return *rt, true
	}
	var names []string
	for _, rt := range catalog {
		names = append(names, rt.ID)
	}
	b.fail(from(pos), "unknown runtime %q%s", id, nearest.Suggest(id, names))
	return spec.Runtime{}, false
}

// sortPlaces orders runtimes by id, so that their order in a spec has no effect.
func sortPlaces(places []place) {
	sort.Slice(places, func(i, j int) bool { return places[i].rt.ID < places[j].rt.ID })
}
