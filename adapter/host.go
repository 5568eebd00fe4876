package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/sealed"
	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Host is what the declarations of a host depend on.
type Host struct {
	Spec     *spec.Host
	Runtimes []spec.Runtime // the whole catalog
	Models   []spec.Model   // the whole catalog
	Sources  *bundle.Sources
	Facts    *facts.Facts     // nil: unknown, so every runtime counts as installed
	Home     fsys.LogicalPath // the home of ~/ in the store's path
	State    fsys.LogicalPath // aisync's own, with the keys of services
	// Pick chooses the quant of a model, with its pinned files.
	Pick     func(use spec.ModelUse, m spec.Model) (q spec.Quant, reason string, err error)
	Store    string          // folder of the models; "": the spec's
	Programs store.Programs  // folders of other programs that keep models; zero: their defaults below Home
	Secrets  *sealed.Secrets // for programs that cannot read a secret from elsewhere; nil: such a server is left out
	// Absent says why a service of aisync's will not answer after this plan;
	// "": the plan starts or finds it. nil: all answer.
	Absent func(s spec.Service) string
	// Made reports whether an apply has made something at that path, or below it; nil:
	// none has.
	Made func(path string) bool
	// Recorded reports whether the last apply wanted that value of a leaf; nil:
	// it wanted none.
	Recorded func(target reconcile.Address, key reconcile.LeafKey, want reconcile.Fingerprint) bool
}

// Declare returns everything the host's spec asks for, with the host as owner.
// The error joins all problems; the declarations are incomplete then.
func (h Host) Declare(ctx context.Context) (Decls, error) {
	b := newBuilder(reconcile.HostOwner)
	b.dir = h.Spec.Dir
	places := h.places(b)
	for _, hb := range h.Spec.Bundles {
		h.bundle(ctx, b, places, hb)
	}
	b.placeRules(places)
	b.ownSettings(places, h.Spec.Settings, func(runtime string) bool {
		return slices.ContainsFunc(h.Spec.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == runtime })
	})
	b.secrets = h.Secrets
	b.mcp(places, slices.Concat(packages.Servers(h.Home, h.Spec.MCP), bundledServers(b.wishes)))
	h.models(b)
	h.endpoint(b) // after the models: a service needs its models
	uses, says := h.starts().Loosening()
	for i, text := range says {
		b.note(true, from(uses[i].Pos), "%s", text)
	}
	b.finish(places)
	return b.done()
}

// places are the runtimes that are installed or will be. A missing one that the
// spec does not install is reported, and left out unless something was made for it:
// a program that this PATH does not find, such as that of ssh or cron, may be there.
func (h *Host) places(b *builder) []place {
	var places []place
	for _, use := range h.Spec.Runtimes {
		rt, ok := b.lookup(use.ID, use.Pos, h.Runtimes)
		switch {
		case !ok:
		case use.Install == nil && !h.There(h.command(&use, &rt)) && !h.made(&rt.User):
			b.note(false, from(use.Pos), "%s is not installed (no program %s in PATH), so nothing is written for it; add install: {via: …} to install it", use.ID, h.command(&use, &rt))
		case use.Install == nil && !h.There(h.command(&use, &rt)):
			b.note(true, from(use.Pos), "%s was here and is not found now (no program %s in PATH); what was made for it is kept: look at PATH, or take it out of the spec", use.ID, h.command(&use, &rt))
			fallthrough
		default:
			places = append(places, place{rt, rt.User, from(use.Pos), nil})
		}
	}
	sortPlaces(places)
	return places
}

// made reports whether an apply has made something in a place of a program's own.
func (h *Host) made(s *spec.Scope) bool {
	if h.Made == nil {
		return false
	}
	own := []string{s.Dir, s.Rules, s.RulesBlock}
	if s.Settings != nil {
		own = append(own, s.Settings.Path)
	}
	if s.MCP != nil {
		own = append(own, s.MCP.Path)
	}
	return slices.ContainsFunc(own, func(path string) bool { return path != "" && h.Made(path) })
}

// command is the program of a runtime; for a generic one, its driver's.
func (h *Host) command(use *spec.RuntimeUse, rt *spec.Runtime) string {
	if use.CLI == "" {
		return rt.Command
	}
	for i := range h.Runtimes {
		if h.Runtimes[i].ID == use.CLI {
			return h.Runtimes[i].Command
		}
	}
	return use.CLI
}

// There reports whether a program is in PATH, will be because the spec installs
// its runtime, or cannot be looked for.
func (h *Host) There(command string) bool { return h.starts().Available(command) }

// bundle declares the parts of one source that the host wants in user scope.
func (h *Host) bundle(ctx context.Context, b *builder, places []place, hb spec.HostBundle) {
	tree, err := h.Sources.Open(ctx, bundle.OfHost(hb, h.Spec.Dir))
	if err != nil {
		b.blame(err)
		return
	}
	wants := func(part string) bool { return len(hb.Parts) == 0 || slices.Contains(hb.Parts, part) }
	origin := from(hb.Pos)
	failed := func(err error) bool {
		if err != nil {
			b.fail(origin, "bundle %s: %w", hb.Name, err)
		}
		return err != nil
	}
	if wants("rules") {
		core, err := tree.Core()
		if failed(err) {
			return
		}
		b.addRules(bundleRequest{label: hb.Name, part: core, origin: origin}, core.Rules, "")
		b.problems(origin, hb.Name, core.Problems)
	}
	shared, err := tree.Shared()
	if failed(err) {
		return
	}
	b.problems(origin, hb.Name, shared.Problems)
	h.shared(b, places, bundleRequest{label: hb.Name, part: shared, origin: origin}, wants)
	if wants("skills") {
		skills, err := tree.Skills()
		if failed(err) {
			return
		}
		b.skills(places, hb.Name, origin, slices.Concat(skills, shared.Skills()), wants("rules"))
	}
	// Named hooks are among the shared parts.
	if wants("hooks") && hb.Pick.Parts() == 0 {
		hooks, err := tree.Hooks()
		if failed(err) {
			return
		}
		h.hooks(b, places, hb.Name, origin, hooks)
	}
}

// shared declares the neutral parts at the top of a source.
func (h *Host) shared(b *builder, places []place, w bundleRequest, wants func(part string) bool) {
	part := *w.part
	w.part = &part
	n := &part.Neutral
	for name, clear := range map[string]func(){
		"commands":    func() { n.Commands = nil },
		"agents":      func() { n.Agents = nil },
		"hooks":       func() { n.Hooks = nil },
		"permissions": func() { n.Permissions = nil },
		"ignore":      func() { n.Ignored = nil },
		"servers":     func() { n.Servers = nil },
	} {
		if !wants(name) {
			clear()
		}
	}
	b.neutral(places, w)
	b.wishes = append(b.wishes, w)
	for _, p := range places {
		if own := part.Runtime(p.rt.ID); wants("rules") {
			b.addRules(w, own.Rules, p.rt.ID)
			b.addInstructions(p, w, own.Instructions)
		}
		if wants("hooks") {
			b.ownFiles(p, w)
		}
	}
}

// claudeHooks is the folder of hook programs in a settings snippet.
const claudeHooks = "~/.claude/hooks"

// hooks installs hook programs, and the settings that call them for runtimes
// with native hooks, and reports the runtimes for which they are manual.
func (h *Host) hooks(b *builder, places []place, label string, origin []reconcile.Position, hooks *bundle.Hooks) {
	if hooks.Snippet == nil && (hooks.Neutral || len(hooks.Programs) == 0) {
		return
	}
	manual := map[string][]string{}
	for _, p := range places {
		s := p.scope.Settings
		if p.rt.Hooks != "native" || p.scope.Hooks == "" || s == nil || s.Hooks == "" {
			manual[p.rt.Hooks] = append(manual[p.rt.Hooks], p.rt.ID)
			continue
		}
		w := bundleRequest{label: label, origin: origin}
		b.files(p, w, p.scope.Hooks, "hook programs", hooks.Programs)
		if d := hooks.Snippet; d != nil {
			text := strings.ReplaceAll(string(d.Text), claudeHooks+"/", p.scope.Hooks+"/")
			b.fragment(p, []byte(text), d.Path, label, func(string) []reconcile.Position { return origin })
		}
	}
	for _, level := range []struct{ id, says string }{
		{"native", "in Claude's form, so manual for %s: in a hooks/hooks.json they would be for all"},
		{"wrapper", "not run by %s: run them by hand, or start it through a wrapper that does"},
		{"manual", "manual for %s: nothing runs them, the rules say what to check"},
		{"", "manual for %s: nothing runs them, the rules say what to check"},
	} {
		if ids := manual[level.id]; len(ids) > 0 {
			b.note(false, origin, "the hooks of %s are %s", label, fmt.Sprintf(level.says, list(ids)))
		}
	}
}

// Trust declares the entries, in user scope, by which a program may load a
// project's files. The project owns them, so they go with it; the host's spec
// must say trust.
func Trust(h *spec.Host, p *spec.Project, catalog []spec.Runtime) Decls {
	b := newBuilder(reconcile.ProjectOwner(p.Dir))
	b.local = true
	if h == nil || !h.Trust.On {
		return Decls{}
	}
	for _, rt := range catalog {
		used := slices.ContainsFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == rt.ID })
		if !p.Uses(rt.ID) || !used {
			continue
		}
		b.trust(rt, p.Dir, from(h.Trust.Pos))
	}
	d, _ := b.done() // the catalog's test finds a set member that is not JSON
	return d
}

// TrustEntries are the entries by which rt trusts the folder dir, one leaf each.
func TrustEntries(dir string, rt spec.Runtime) []reconcile.Declaration {
	var out []reconcile.Declaration
	for _, ref := range rt.User.Trust {
		one := rt
		one.User.Trust = []spec.Reference{ref}
		b := newBuilder(reconcile.ProjectOwner(dir))
		b.trust(one, dir, nil)
		d, _ := b.done() // as in Trust
		out = append(out, d.Declarations...)
	}
	return out
}

// trust declares the entries by which rt trusts dir.
func (b *builder) trust(rt spec.Runtime, dir string, origin []reconcile.Position) {
	for _, ref := range rt.User.Trust {
		ref.Pointer = strings.ReplaceAll(ref.Pointer, "{dir}", strings.TrimPrefix(merge.Pointer(dir), "/"))
		ref.JSON = []byte(strings.ReplaceAll(string(ref.JSON), "{dir}", start.Escaped(dir)))
		b.reference(ref, origin, rt.ID)
	}
}
