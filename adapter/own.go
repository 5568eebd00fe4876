package adapter

import (
	"context"
	"maps"
	"path"
	"slices"

	"aisync.dev/aisync/adapter/ownlayer"
	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// own returns what the person's own layer asks for, beside what common asks for
// everyone: in places that git does not carry. What has none is an error, or a
// note where other programs have one.
func (p Project) own(ctx context.Context, common *builder) (Decls, error) {
	l := p.Spec.Local
	shared := func(name string) bool {
		return common.targets[fileAt(name)] != nil || common.targets[reconcile.Address("link:"+name)] != nil || p.Carried != nil && p.Carried(name)
	}
	q := p
	q.Spec, q.Runtimes = l, nil
	for _, rt := range p.Runtimes {
		q.Runtimes = append(q.Runtimes, ownlayer.Runtime(rt, p.Spec.Dir, shared))
	}
	b := newBuilder(common.owner)
	b.dir, b.local = p.Spec.Dir, true
	places := q.places(b, p.Spec.Runtimes)
	alone := slices.DeleteFunc(slices.Clone(places), func(pl place) bool {
		return slices.ContainsFunc(p.Spec.Runtimes, func(n spec.Named) bool { return n.Value == pl.rt.ID })
	})
	for _, w := range q.requests(ctx, b) {
		if slices.ContainsFunc(common.wishes, func(o bundleRequest) bool { return o.part == w.part && o.folder == "" }) {
			continue // everyone has it
		}
		b.wishes = append(b.wishes, w)
		b.addRules(w, w.part.Rules, "")
		for _, pl := range places {
			b.part(pl, w)
		}
		b.neutral(places, w)
		b.skills(places, w.label, w.origin, w.part.Skills(), true)
		b.hookNotes(places, w)
		b.problems(w.origin, w.label, w.part.Problems)
		if parts := ownlayer.LeftOut(w.part); parts != "" {
			b.note(false, w.origin, "%s brings %s, which everyone would get: they are left out of your own layer", w.label, parts)
		}
	}
	b.rules = slices.DeleteFunc(b.rules, func(r rule) bool {
		return slices.ContainsFunc(common.rules, func(o rule) bool { return len(o.only)+len(o.folders) == 0 && o.identity() == r.identity() })
	})
	b.alsoFor(alone, p, common)
	b.placeRules(places)
	if len(b.rules) > 0 && len(b.loads) == 0 && len(places) > 0 {
		b.fail(b.rules[0].origin, "no program here has a place for rules %s", b.here(theirBundle))
	}
	b.ownValues(q, places, shared)
	b.finish(places)
	b.unsharedTargets(common, p.Spec.File)
	d, err := b.done()
	for _, decl := range d.Declarations {
		if !slices.Contains(d.Own, decl.Target) {
			d.Own = append(d.Own, decl.Target)
		}
	}
	return d, err
}

// ownValues declares settings and servers. Each is named by the person, so one
// that cannot be is an error.
func (b *builder) ownValues(q Project, places []place, shared func(string) bool) {
	for _, s := range q.Spec.Settings {
		rt, ok := b.lookup(s.Runtime, s.Pos, q.Runtimes)
		switch at := rt.Project.Settings; {
		case !ok:
		case at == nil:
			b.fail(from(s.Pos), "%s has no settings file in this project that is one person's; set it for all your projects under settings: %s of your host, or for everyone here in aisync.cue", s.Runtime, s.Runtime)
		default:
			b.ownSettings([]place{{rt: rt, scope: rt.Project}}, []spec.Settings{s}, func(string) bool { return false })
		}
	}
	for _, m := range q.Spec.MCP {
		var none []string
		taken := false
		for _, p := range places {
			if isFor(m, p.rt.ID) && p.rt.MCPSupport {
				taken = taken || p.scope.MCP != nil
				if p.scope.MCP == nil {
					none = append(none, p.rt.ID)
				}
			}
		}
		if len(none) > 0 && (len(m.Runtimes) > 0 || !taken) {
			b.fail(from(m.Pos), "MCP server %s: %s finds no servers of one person in this project; name it under mcp of your host, or for everyone in aisync.cue", m.Name, list(none))
		}
	}
	b.mcp(places, slices.Concat(q.Spec.MCP, bundledServers(b.wishes)))
}

// alsoFor gives programs that one person alone uses here what everyone's programs
// have, as far as they do not find it already. A program that finds it nowhere but
// in a file that is everyone's is an error.
func (b *builder) alsoFor(alone []place, p Project, common *builder) {
	for _, pl := range alone {
		full := *start.Find(p.Runtimes, pl.rt.ID)
		finds := append([]string{full.Project.RulesBlock}, full.Project.RulesAlso...)
		if common.notesHere != nil && common.tried.WithFile(full.Project.RulesBlock, trialText).Copies(program(&full, p.Runtimes), "", []byte(trialText)) == 0 {
			finds = finds[1:] // it does not come to the common file
		}
		for _, r := range common.rules {
			found := slices.ContainsFunc(common.loads, func(l load) bool { return l.rule == r.rel && l.text == r.identity() && slices.Contains(finds, l.from) })
			switch {
			case found || !r.isFor(pl):
			case pl.scope.Rules == "":
				b.fail(pl.origin, "%s finds the rules of this project in %s alone, which is everyone's; name it for everyone: aisync add runtime %s", pl.rt.ID, full.Project.RulesBlock, pl.rt.ID)
			default:
				r.only, r.origin = []string{pl.rt.ID}, joined(r.origin, pl.origin)
				b.rules = append(b.rules, r)
			}
		}
		for _, w := range common.wishes {
			w.origin = joined(pl.origin, w.origin)
			b.part(pl, w)
			b.neutral([]place{pl}, w)
			b.skills([]place{pl}, w.label, w.origin, slices.DeleteFunc(w.part.Skills(), func(s bundle.Skill) bool {
				return slices.ContainsFunc(append([]string{pl.scope.Skills}, pl.scope.SkillsAlso...), func(folder string) bool {
					return common.targets[fileAt(path.Join(folder, s.Name, "SKILL.md"))] != nil
				})
			}), true)
		}
	}
	if p.Spec.Agents.Ledger.On {
		p.ledgerHooks(b, alone, bundleRequest{label: ledgerLabel, part: &bundle.Part{}, origin: from(p.Spec.Agents.Ledger.Pos)})
	}
	b.mcp(alone, p.Spec.MCP)
}

// unsharedTargets refuses each file that b and common both ask for: everyone has
// it. A link to rules stays as everyone has it.
func (b *builder) unsharedTargets(common *builder, file string) {
	for _, a := range slices.Sorted(maps.Keys(b.targets)) {
		d, theirs := b.targets[a], common.targets[a]
		if theirs == nil || !a.InProject() {
			continue
		}
		delete(b.targets, a)
		differs := func(l reconcile.Leaf) bool {
			return !slices.ContainsFunc(theirs.Leaves, func(o reconcile.Leaf) bool { return o.Key == l.Key && o.Body.Fingerprint() == l.Body.Fingerprint() })
		}
		if a.Kind() != "link" && slices.ContainsFunc(d.Leaves, differs) {
			b.fail(d.Leaves[0].Origin, "%s is everyone's: %s asks for it; leave yours out, or give it another name", a.Name(), text(theirs.Leaves[0].Origin))
		}
	}
}
