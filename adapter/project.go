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
	Lent     []spec.Source          // bundle sources of the host, for names that the project does not know; used with a warning
	Git      bool                   // gitrepo.IsTop(Spec.Dir)
	Notes    Notes                  // as ReadNotes returns them; nil: unknown, and nothing is linked
	NoLinks  bool                   // links cannot be had below Spec.Dir
	Hooks    func() Hooks           // called at most once for the active git hooks; nil: none
	Made     func(name string) bool // whether aisync made a file; nil: none
	Carried  func(name string) bool // whether git carries a file, for the person's own layer; nil: it carries none
}

// Declare returns everything the project's spec asks of runtimes, with the
// project as owner. The error joins all problems; the declarations are
// incomplete then.
func (p Project) Declare(ctx context.Context) (Decls, error) {
	b := p.declare(ctx)
	d, err := b.done()
	if p.Spec.Local == nil || err != nil {
		return d, err
	}
	own, err := p.own(ctx, b)
	d.Add(own)
	return d, err
}

// places are the runtimes that p names, and those of more, sorted.
func (p Project) places(b *builder, more []spec.Named) []place {
	var places []place
	for _, r := range slices.Concat(p.Spec.Runtimes, more) {
		if slices.ContainsFunc(places, func(q place) bool { return q.rt.ID == r.Value }) {
			continue
		}
		if rt, ok := b.lookup(r.Value, r.Pos, p.Runtimes); ok {
			places = append(places, place{rt, rt.Project, from(r.Pos), program(&rt, p.Runtimes)})
		}
	}
	sortPlaces(places)
	return places
}

// declare collects what p asks for.
func (p Project) declare(ctx context.Context) *builder {
	b := newBuilder(reconcile.ProjectOwner(p.Spec.Dir))
	b.dir = p.Spec.Dir
	b.subfolders = p.Spec.Folders()
	b.notesHere, b.noLinks, b.tried = p.Notes, p.NoLinks, p.Notes.trial()
	places := p.places(b, nil)
	b.bar(places)
	b.wishes = p.requests(ctx, b)
	for _, w := range b.wishes {
		b.addRules(w, w.part.Rules, "")
		for _, pl := range places {
			b.part(pl, w)
		}
		b.neutral(places, w)
		if w.again {
			b.ignores(w)
			continue
		}
		b.skills(places, w.label, w.origin, w.part.Skills(), w.folder == "" || b.hasCommonRules())
		if w.folder == "" {
			b.seeds(places, w)
		} else {
			b.unseeded(w)
		}
		b.ignores(w)
		b.agents(w, p.Spec.Agents.Sessions.On)
		b.hookNotes(places, w)
		b.problems(w.origin, w.label, w.part.Problems)
	}
	own := p.agentHooks(b, places, b.wishes)
	p.noteNestings(b)
	b.limitRules()
	b.placeRules(places)
	if !p.Spec.NoGitHooks {
		b.gitHooks(slices.Concat(b.wishes, own), p.Git, p.Hooks)
	}
	b.ownSettings(places, p.Spec.Settings, func(string) bool { return false })
	b.mcp(places, slices.Concat(p.Spec.MCP, bundledServers(b.wishes)))
	b.finish(places)
	b.reportWaits()
	b.unshared(places)
	return b
}

// bundledServers are the MCP servers of bundles, each at the place that asks for it.
func bundledServers(wishes []bundleRequest) []spec.MCPServer {
	var out []spec.MCPServer
	for _, w := range wishes {
		for _, m := range w.part.Neutral.Servers {
			m.Pos = spec.Position(w.origin[0])
			out = append(out, m)
		}
	}
	return out
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
		b.use(found.Tree, ref)
		if kind == bundle.Language {
			if i, ok := cores[found.Tree]; ok {
				out[i].origin = joined(out[i].origin, origin)
			} else if core, err := found.Tree.Core(); err != nil {
				b.fail(origin, "bundle source %q: %w", found.Tree.Name, err)
			} else {
				cores[found.Tree] = len(out)
				out = append(out, bundleRequest{label: found.Tree.Name + "//.", part: core, origin: origin})
			}
		}
		if found.Part.Kind != bundle.Core {
			out = append(out, bundleRequest{label: found.Tree.Name + "//" + ref.Name, part: found.Part, origin: origin})
		}
	}
	for _, ref := range p.Spec.Bundles {
		add(bundle.Language, ref)
	}
	for _, ref := range p.Spec.Teams {
		add(bundle.Team, ref)
	}
	out = p.folderRequests(ctx, b, out)
	p.unused(b)
	return out
}

// unused notes the sources from which no bundle is taken: to name a source alone
// changes nothing.
func (p Project) unused(b *builder) {
	bundles, teams := p.Spec.References()
	refs := slices.Concat(bundles, teams)
	for _, s := range p.Spec.Sources {
		if !slices.ContainsFunc(refs, func(r spec.BundleRef) bool { return r.Source == s.Name }) &&
			!slices.ContainsFunc(b.used, func(u UsedSource) bool { return u.Tree.Name == s.Name }) {
			b.note(false, from(s.Pos), "nothing is taken from source %s, because no bundle names it; for its general part: bundles: [%q]", s.Name, s.Name+"//.")
		}
	}
}

// sources are the project's. For a name that only the host knows, the host's
// source is used with a warning, because a teammate may not have it.
func (p Project) sources(b *builder, ref spec.BundleRef) []spec.Source {
	named := func(s spec.Source) bool { return s.Name == ref.Source }
	own := p.Spec.SourcesOf(ref)
	if b.local {
		return slices.Concat(own, p.Lent)
	}
	if ref.Source == "" || slices.ContainsFunc(own, named) {
		return own
	}
	i := slices.IndexFunc(p.Lent, named)
	if i < 0 {
		return own
	}
	b.note(true, from(ref.Pos), "source %s is known to this host only; name it in the project's sources, so that everyone gets the same files", ref.Source)
	return append(slices.Clone(own), p.Lent[i])
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
