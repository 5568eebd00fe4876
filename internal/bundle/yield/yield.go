// Package yield refuses what a spec names and that yields nothing: a source, a
// selection, a list of runtimes. It reads sources that are on this machine and
// writes nothing. Call Check.
package yield

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/schema/spec"
)

// Spec is what is looked at. Host and Project may be nil.
type Spec struct {
	Host     *spec.Host
	Project  *spec.Project
	Runtimes []spec.Runtime // the whole catalog
	Sources  *bundle.Sources
	Fault    bool // report what is wrong with a source too, not only that it yields nothing

	Unwritten bool // hints name a source by its address: no spec has its name yet
}

// Check returns an error for each place of the specs that yields nothing, with its
// position, what there is, and what to write.
func Check(ctx context.Context, s Spec) error {
	return errors.Join(s.host(ctx), s.project(ctx))
}

func (s Spec) host(ctx context.Context) error {
	if s.Host == nil {
		return nil
	}
	var ids []string
	for _, u := range s.Host.Runtimes {
		ids = append(ids, u.ID)
	}
	var errs []error
	for _, hb := range s.Host.Bundles {
		t, err := s.Sources.Open(ctx, bundle.OfHost(hb, s.Host.Dir))
		if err != nil {
			continue // it is not here
		}
		parts, err := ofHost(t, hb)
		if err != nil {
			errs = append(errs, s.fault(bundle.At(hb.Pos, err)))
			continue
		}
		errs = append(errs, s.judge(t, hb.Pos, fmt.Sprintf("bundle %q", hb.Name), parts, ids, func(rt spec.Runtime) spec.Scope { return rt.User }))
	}
	return errors.Join(errs...)
}

// ofHost is what a host takes of t.
func ofHost(t *bundle.Tree, hb spec.HostBundle) ([]*bundle.Part, error) {
	wants := func(part string) bool { return len(hb.Parts) == 0 || slices.Contains(hb.Parts, part) }
	top, err := t.Top()
	if err != nil {
		return nil, err
	}
	p := &bundle.Part{Kind: bundle.Core}
	n := top.Neutral
	if wants("rules") {
		core, err := t.Core()
		if err != nil {
			return nil, err
		}
		shared, err := t.Shared()
		if err != nil {
			return nil, err
		}
		p.Rules, p.Runtimes = core.Rules, shared.Runtimes
	}
	if wants("skills") {
		p.Neutral.Skills = n.Skills
	}
	if wants("hooks") {
		hooks, err := t.Hooks()
		if err != nil {
			return nil, err
		}
		p.Neutral.Hooks, p.Neutral.Programs = n.Hooks, hooks.Programs
		if hooks.Snippet != nil {
			p.Seeds = append(p.Seeds, hooks.Snippet.File)
		}
	}
	if wants("commands") {
		p.Neutral.Commands = n.Commands
	}
	if wants("agents") {
		p.Neutral.Agents = n.Agents
	}
	if wants("permissions") {
		p.Neutral.Permissions = n.Permissions
	}
	if wants("ignore") {
		p.Neutral.Ignored = n.Ignored
	}
	if wants("servers") {
		p.Neutral.Servers = n.Servers
	}
	return []*bundle.Part{p}, nil
}

func (s Spec) project(ctx context.Context) error {
	p := s.Project
	if p == nil {
		return nil
	}
	var ids []string
	for _, r := range p.Runtimes {
		ids = append(ids, r.Value)
	}
	if p.Local != nil {
		for _, r := range p.Local.Runtimes {
			ids = append(ids, r.Value)
		}
	}
	var errs []error
	ask := func(kind bundle.Kind, refs []spec.BundleRef) {
		for _, ref := range refs {
			errs = append(errs, s.ref(ctx, kind, ref, ids))
		}
	}
	if p.Local != nil {
		s.Project = p.Local // whose sources are its own and the project's
		ask(bundle.Language, p.Local.Bundles)
		ask(bundle.Team, p.Local.Teams)
		s.Project = p
	}
	for _, src := range p.Sources {
		if !names(p, src.Name) { // the bundles of others are judged
			errs = append(errs, s.source(ctx, src))
		}
	}
	ask(bundle.Language, p.Bundles)
	ask(bundle.Team, p.Teams)
	for _, at := range p.Places {
		ask(bundle.Language, at.Bundles)
		ask(bundle.Team, at.Teams)
	}
	return errors.Join(errs...)
}

// names reports whether a bundle of p is of the source, or may be.
func names(p *spec.Project, source string) bool {
	refs := slices.Concat(p.Bundles, p.Teams)
	for _, at := range p.Places {
		refs = slices.Concat(refs, at.Bundles, at.Teams)
	}
	if p.Local != nil {
		refs = slices.Concat(refs, p.Local.Bundles, p.Local.Teams)
	}
	return slices.ContainsFunc(refs, func(r spec.BundleRef) bool { return r.Source == source || r.Source == "" })
}

// source refuses a source that no bundle names and that holds nothing.
func (s Spec) source(ctx context.Context, src spec.Source) error {
	t, err := s.Sources.Open(ctx, src)
	if err != nil {
		return nil // it is not here
	}
	runtimes, err := t.Runtimes()
	if err != nil || len(runtimes) > 0 || t.HasOthers() || len(t.Holds()) > 0 {
		return nil
	}
	return bundle.At(src.Pos, fmt.Errorf("source %q yields nothing: it has %s%s", src.Name, t.Contents(), s.next(t, "")))
}

// ref judges one bundle of the project.
func (s Spec) ref(ctx context.Context, kind bundle.Kind, ref spec.BundleRef, ids []string) error {
	among := s.Project.SourcesOf(ref)
	if s.Host != nil && !slices.ContainsFunc(among, func(o spec.Source) bool { return o.Name == ref.Source }) && ref.Source != "" {
		for _, hb := range s.Host.Bundles {
			if hb.Name == ref.Source {
				among = append(slices.Clone(among), bundle.OfHost(hb, s.Host.Dir))
			}
		}
	}
	for _, src := range among {
		if _, err := s.Sources.Open(ctx, src); err != nil {
			return nil // it is not here
		}
	}
	found, err := s.Sources.Find(ctx, kind, ref, among)
	if err != nil {
		return s.fault(err)
	}
	parts := []*bundle.Part{found.Part}
	if kind == bundle.Language {
		core, err := found.Tree.Core()
		if err != nil {
			return s.fault(err)
		}
		if ref.Name == "." || !empty(found.Part) { // a language that is empty yields nothing, whatever the core has
			parts = append(parts, core)
		}
	}
	return s.judge(found.Tree, ref.Pos, fmt.Sprintf("bundle %q", found.Tree.Name+"//"+ref.Name), parts, ids, ofProject)
}

func ofProject(rt spec.Runtime) spec.Scope { return rt.Project }

// fault is an error in what a source holds, where that is asked for.
func (s Spec) fault(err error) error {
	if s.Fault {
		return err
	}
	return nil
}

func empty(p *bundle.Part) bool {
	return len(kinds(p))+len(p.Runtimes) == 0 && !free(p)
}

// judge refuses parts that are empty, and those that none of the runtimes can have.
func (s Spec) judge(t *bundle.Tree, pos spec.Position, what string, parts []*bundle.Part, ids []string, scope func(spec.Runtime) spec.Scope) error {
	some := false
	var held, owners []string
	for _, p := range parts {
		if empty(p) {
			continue
		}
		some = true
		if free(p) {
			return nil
		}
		held = append(held, kinds(p)...)
		for _, r := range p.Runtimes {
			owners = append(owners, r.ID)
		}
		for _, rt := range s.Runtimes {
			if slices.Contains(ids, rt.ID) && takes(rt, scope(rt), p) {
				return nil
			}
		}
	}
	switch {
	case !some:
		return bundle.At(pos, fmt.Errorf("%s yields nothing: the source has %s%s", what, t.Contents(), s.next(t, what)))
	case len(ids) == 0:
		return bundle.At(pos, fmt.Errorf("%s yields nothing: no runtime is named; the source has %s; add one, as in runtimes: [\"claude\"]", what, t.Contents()))
	}
	slices.Sort(held)
	if len(held) == 0 {
		slices.Sort(owners)
		return bundle.At(pos, fmt.Errorf("%s yields nothing: it has only files of %s; name that runtime in the spec, or leave the bundle out",
			what, strings.Join(slices.Compact(owners), ", ")))
	}
	return bundle.At(pos, fmt.Errorf("%s yields nothing: %s %s no %s of a bundle; add a runtime that does (aisync runtimes matrix), or leave the bundle out",
		what, strings.Join(ids, ", "), verb(len(ids)), strings.Join(slices.Compact(held), " or ")))
}

func verb(n int) string {
	if n == 1 {
		return "takes"
	}
	return "take"
}

// next is what to write instead of a bundle that is empty, called what.
func (s Spec) next(t *bundle.Tree, what string) string {
	for _, h := range t.Holds() {
		for _, name := range h.Names {
			list := map[string]string{"language": "bundles", "team": "teams"}[h.What]
			if name = t.Name + "//" + name; list != "" && !strings.HasSuffix(what, fmt.Sprintf("%q", name)) {
				return fmt.Sprintf("; write %s: [%q]", list, name)
			}
		}
	}
	plugins, _ := t.Plugins() // one that cannot be read names none
	for _, p := range plugins {
		if p.Fault == "" && p.Path != "." { // the source itself
			market := t.Name
			if s.Unwritten {
				market = shellquote.Terminal(bundle.ShortAddress(t.URL))
			}
			return "; add one with: aisync add plugin " + p.Name + "@" + market
		}
	}
	return "; see docs/bundles.md for what a source may hold"
}

// free reports whether p has what needs no runtime.
func free(p *bundle.Part) bool { return len(p.GitHooks)+len(p.Ignores)+len(p.Agents) > 0 }

// kinds are the kinds of what p holds, in words.
func kinds(p *bundle.Part) []string {
	n := p.Neutral
	var out []string
	for what, count := range map[string]int{
		"rules": len(p.Rules), "notes": len(p.Seeds), "skills": len(n.Skills), "commands": len(n.Commands), "subagents": len(n.Agents),
		"hooks": len(n.Hooks) + len(n.Programs), "permissions": len(n.Permissions), "ignored files": len(n.Ignored), "MCP servers": len(n.Servers),
	} {
		if count > 0 {
			out = append(out, what)
		}
	}
	return out
}

// takes reports whether rt can have something of p in a scope.
func takes(rt spec.Runtime, scope spec.Scope, p *bundle.Part) bool {
	is := func(ids []string) bool { return len(ids) == 0 || slices.Contains(ids, rt.ID) }
	n := p.Neutral
	file := func(f bundle.File) bool { return is(f.About.Runtimes) }
	own := p.Runtime(rt.ID)
	switch {
	case len(own.Rules)+len(own.Skills)+len(own.Hooks)+len(own.Seeds)+len(own.Others)+len(own.Settings)+len(own.Instructions) > 0, len(p.Seeds) > 0:
		return true
	case slices.ContainsFunc(p.Rules, file) && scope.Rules+scope.RulesBlock+scope.RulesKept != "":
		return true
	case slices.ContainsFunc(n.Skills, func(k bundle.Skill) bool { return is(k.Runtimes) }) && (scope.Skills != "" || len(scope.SkillsAlso) > 0):
		return true
	case slices.ContainsFunc(n.Commands, file) && scope.Commands != nil, slices.ContainsFunc(n.Agents, file) && scope.Agents != nil:
		return true
	case slices.ContainsFunc(n.Hooks, func(h bundle.Hook) bool {
		return is(h.Runtimes) && (scope.Events != nil || rt.Hooks != "manual" || slices.Contains(bundle.LaunchedEvents, h.Event))
	}), len(n.Hooks) == 0 && len(n.Programs) > 0:
		return true
	case len(n.Permissions) > 0 && scope.Permissions != nil, len(n.Ignored) > 0 && (scope.Ignore != "" || scope.Permissions != nil):
		return true
	case slices.ContainsFunc(n.Servers, func(m spec.MCPServer) bool { return is(m.Runtimes) }) && scope.MCP != nil && rt.MCPSupport:
		return true
	}
	return false
}
