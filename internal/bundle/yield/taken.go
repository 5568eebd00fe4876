package yield

import (
	"context"
	"slices"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// Taken returns the parts that the specs take of the source called name, and the
// tree; nil where they take nothing of it.
func (s Spec) Taken(ctx context.Context, name string) (parts []*bundle.Part, t *bundle.Tree, err error) {
	if s.Host != nil {
		for _, hb := range s.Host.Bundles {
			if hb.Name != name {
				continue
			}
			if t, err = s.Sources.Open(ctx, bundle.OfHost(hb, s.Host.Dir)); err != nil {
				return nil, nil, err
			}
			if parts, err = ofHost(t, hb); err != nil {
				return nil, nil, bundle.At(hb.Pos, err)
			}
		}
	}
	p := s.Project
	if p == nil {
		return parts, t, nil
	}
	ask := func(kind bundle.Kind, refs []spec.BundleRef) {
		for _, ref := range refs {
			among := p.SourcesOf(ref)
			if err != nil || ref.Source != name && (ref.Source != "" || !slices.ContainsFunc(among, func(o spec.Source) bool { return o.Name == name })) {
				continue
			}
			var found bundle.Found
			if found, err = s.Sources.Find(ctx, kind, ref, among); err != nil || found.Tree.Name != name {
				continue
			}
			t, parts = found.Tree, append(parts, found.Part)
			if kind == bundle.Language {
				var core *bundle.Part
				if core, err = t.Core(); err == nil {
					parts = append(parts, core)
				}
			}
		}
	}
	ask(bundle.Language, p.Bundles)
	ask(bundle.Team, p.Teams)
	for _, at := range p.Places {
		ask(bundle.Language, at.Bundles)
		ask(bundle.Team, at.Teams)
	}
	if err != nil {
		return nil, nil, err
	}
	if i := slices.IndexFunc(p.Sources, func(o spec.Source) bool { return o.Name == name }); t == nil && i >= 0 {
		t, err = s.Sources.Open(ctx, p.Sources[i])
	}
	return parts, t, err
}

// For returns the runtimes of the specs that can have p, by their ids.
func (s Spec) For(p *bundle.Part) []string {
	var out []string
	add := func(id string, scope func(spec.Runtime) spec.Scope) {
		i := slices.IndexFunc(s.Runtimes, func(rt spec.Runtime) bool { return rt.ID == id })
		if i >= 0 && !slices.Contains(out, id) && takes(s.Runtimes[i], scope(s.Runtimes[i]), p) {
			out = append(out, id)
		}
	}
	if s.Host != nil {
		for _, u := range s.Host.Runtimes {
			add(u.ID, func(rt spec.Runtime) spec.Scope { return rt.User })
		}
	}
	if s.Project != nil {
		for _, r := range s.Project.Runtimes {
			add(r.Value, ofProject)
		}
	}
	return out
}
