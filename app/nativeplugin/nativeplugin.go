// Package nativeplugin gives Claude Code the plugins that a spec asks for natively:
// whole, in a folder of aisync's that is a marketplace, enabled in its settings. It
// declares files and settings, and runs nothing. Call Host and Project; State tells
// what the program has made of them.
//
// What is written, and what the program writes about it, was measured with 2.1.329:
// it reads the plugin in place, so that a change counts with the next session.
package nativeplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Program is the only one that takes a plugin whole.
const Program = "claude"

const (
	settings = ".claude/settings.json"
	// folder is the marketplace, below a home or a project. The settings of a project
	// have it relative, so that they hold for each checkout.
	folder   = ".claude/aisync-plugins"
	manifest = ".claude-plugin/marketplace.json"
)

// Plugin is one that a spec asks for natively.
type Plugin struct {
	Name, Marketplace string
	Project           bool // asked for by a project
	Origin            []reconcile.Position

	files  []bundle.File // as they shall be
	digest string        // of them
}

// ID is the name by which the program enables it.
func (p *Plugin) ID() string { return p.Name + "@" + p.Marketplace }

// request is a source that a spec takes natively.
type request struct {
	spec.Source
	pos  []spec.Position // where the spec asks for it
	some bool            // it takes parts of it by name
}

// Host declares the native plugins of h. installed reports whether the program is
// here or will be.
func Host(ctx context.Context, h *spec.Host, sources *bundle.Sources, installed func(command string) bool) (adapter.Decls, []Plugin, error) {
	var list []request
	for _, b := range h.Bundles {
		if b.Pick.Whole() {
			list = append(list, request{bundle.OfHost(b, h.Dir), []spec.Position{b.Pos}, len(b.Parts) < len(spec.AllParts)})
		}
	}
	i := slices.IndexFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == Program })
	here := i >= 0 && (h.Runtimes[i].Install != nil || installed(Program))
	d, plugins, err := declare(ctx, &place{reconcile.HostOwner, h.Dir, "~/", "aisync", here, false}, list, sources)
	d.Sources = nil // those are of projects
	return d, plugins, err
}

// Project declares the native plugins of p. They are everyone's. A note names each
// program of p that loads them too.
func Project(ctx context.Context, p *spec.Project, runtimes []spec.Runtime, sources *bundle.Sources) (adapter.Decls, []Plugin, error) {
	var list []request
	var errs []error
	for _, s := range p.Sources {
		if !s.Pick.Whole() {
			continue
		}
		r := request{Source: s}
		for _, ref := range p.Bundles {
			if ref.Source == s.Name && ref.Name == "." {
				r.pos = append(r.pos, ref.Pos)
			}
		}
		if len(r.pos) == 0 {
			errs = append(errs, bundle.At(s.Pos, fmt.Errorf("source %s is native, which takes a plugin whole: name it as %q under bundles of the project", s.Name, s.Name+"//.")))
			continue
		}
		list = append(list, r)
	}
	if p.Local != nil {
		for _, s := range p.Local.Sources {
			if s.Pick.Whole() {
				errs = append(errs, bundle.At(s.Pos, fmt.Errorf("source %s: a plugin of your own is native in your host's spec, not in a project", s.Name)))
			}
		}
	}
	d, plugins, err := declare(ctx, &place{reconcile.ProjectOwner(p.Dir), p.Dir, "", "aisync-" + kebab(p.Name), used(p), true}, list, sources)
	for _, id := range loadToo(runtimes) {
		if len(plugins) > 0 && slices.ContainsFunc(p.Runtimes, func(n spec.Named) bool { return n.Value == id }) {
			d.Notes = append(d.Notes, reconcile.Note{Origin: origin(list[0].pos), Text: fmt.Sprintf("%s also loads the plugins that %s enables, so it gets no translation of %s", id, settings, names(plugins))})
		}
	}
	return d, plugins, errors.Join(append(errs, err)...)
}

// Shadowed returns a warning for each plugin of the project that the host asks for in
// another version. Claude Code 2.1.329 loads the host's alone, in each session.
func Shadowed(host, project []Plugin) (notes []reconcile.Note) {
	for _, p := range project {
		if slices.ContainsFunc(host, func(o Plugin) bool { return o.Name == p.Name && o.digest != p.digest }) {
			notes = append(notes, reconcile.Note{Warning: true, Origin: p.Origin, Text: fmt.Sprintf("%s loads the plugin %s as the host's spec has it, which is another version than this project's; take it out of the host's spec, or update one of them", Program, p.Name)})
		}
	}
	return notes
}

func names(plugins []Plugin) string {
	var out []string
	for _, p := range plugins {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// kebab is a name as the program wants that of a marketplace.
func kebab(name string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(name) }

// place is one scope.
type place struct {
	owner       reconcile.Owner
	dir         string // of the spec
	root        string // of the files: "~/", or "" for a project
	marketplace string
	here        bool // the program is used
	project     bool
}

func declare(ctx context.Context, at *place, list []request, sources *bundle.Sources) (d adapter.Decls, plugins []Plugin, err error) {
	var errs []error
	for i := range list {
		r := &list[i]
		if !at.here && slices.Contains(r.Pick.Native, Program) {
			d.Notes = append(d.Notes, reconcile.Note{Warning: true, Origin: origin(r.pos), Text: fmt.Sprintf("source %s is native for %s, which is not used here", r.Name, Program)})
			continue
		}
		p, decls, used, err := one(ctx, at, r, sources)
		if err == nil && slices.ContainsFunc(plugins, func(o Plugin) bool { return o.Name == p.Name }) {
			err = fmt.Errorf("another source is the plugin %s too; leave one of them out", p.Name)
		}
		if err != nil {
			errs = append(errs, bundle.At(r.pos[0], fmt.Errorf("source %s: %w", r.Name, err)))
			continue
		}
		plugins, d.Sources, d.Declarations = append(plugins, p), append(d.Sources, used), append(d.Declarations, decls...)
	}
	if len(plugins) > 0 {
		decls, err := at.enable(plugins, list)
		d.Declarations, errs = append(d.Declarations, decls...), append(errs, err)
	}
	return d, plugins, errors.Join(errs...)
}

func origin(list []spec.Position) (out []reconcile.Position) {
	for _, p := range list {
		out = append(out, reconcile.Position(p))
	}
	return out
}

// one declares the files of one plugin.
func one(ctx context.Context, at *place, r *request, sources *bundle.Sources) (p Plugin, out []reconcile.Declaration, used adapter.UsedSource, err error) {
	if i := slices.IndexFunc(r.Pick.Native, func(id string) bool { return id != Program }); i >= 0 {
		return p, nil, used, fmt.Errorf("native: %s takes no plugins whole, %s alone does", r.Pick.Native[i], Program)
	}
	if r.some || r.Pick.Parts() > 0 {
		return p, nil, used, errors.New("native takes a plugin whole; leave out what it takes by name, or native")
	}
	tree, err := sources.Open(ctx, r.Source)
	if err != nil {
		return p, nil, used, err
	}
	files, digest, err := tree.Whole()
	if err != nil {
		return p, nil, used, err
	}
	p = Plugin{Name: tree.PluginName(), Marketplace: at.marketplace, Project: at.project, Origin: origin(r.pos), files: files, digest: digest}
	from := origin(r.pos)
	for _, f := range files {
		body := file.WithPast(file.FromSource(f.Path, reconcile.Fingerprint(f.Digest), f.Mode, nil), f.Past)
		if rel, err := filepath.Rel(at.dir, f.Path); err != nil || !filepath.IsLocal(rel) {
			body = file.Elsewhere(body)
		}
		out = append(out, reconcile.Declaration{
			Target: reconcile.Address("file:" + at.root + path.Join(folder, p.Name, f.Rel)), Owner: at.owner,
			Leaves: []reconcile.Leaf{{Body: body, Origin: from, Source: bundle.PinnedSource(tree.URL, tree.Pinned)}},
		})
	}
	return p, out, adapter.UsedSource{Tree: tree, Origin: from[0]}, nil
}

// enable declares the marketplace and the settings that name it. The marketplace
// holds a digest of each plugin, so that a yes to it is a yes to these bytes.
func (at *place) enable(plugins []Plugin, list []request) ([]reconcile.Declaration, error) {
	type entry struct {
		Name   string `json:"name"`
		Source string `json:"source"`
	}
	market := struct {
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Owner       map[string]string `json:"owner"`
		Metadata    map[string]string `json:"metadata"`
		Plugins     []entry           `json:"plugins"`
	}{at.marketplace, "Made by aisync of what the spec asks for natively.", map[string]string{"name": "aisync"}, nil, nil}
	var digests []string
	enabled := map[string]bool{}
	for _, p := range plugins {
		market.Plugins = append(market.Plugins, entry{p.Name, "./" + p.Name})
		digests = append(digests, p.Name+" "+p.digest)
		enabled[p.ID()] = true
	}
	market.Metadata = map[string]string{"version": strings.Join(digests, ", ")}
	text, err := json.MarshalIndent(market, "", "  ")
	if err != nil {
		return nil, err
	}
	doc, err := json.Marshal(map[string]any{
		"extraKnownMarketplaces": map[string]any{at.marketplace: map[string]any{"source": map[string]string{"source": "directory", "path": at.root + folder}}},
		"enabledPlugins":         enabled,
	})
	if err != nil {
		return nil, err
	}
	leaves, err := merge.Flatten(doc, merge.Rules{})
	if err != nil {
		return nil, err
	}
	var from []reconcile.Position
	for _, r := range list {
		from = append(from, origin(r.pos)...)
	}
	set := reconcile.Declaration{Target: reconcile.Address("file:" + at.root + settings), Owner: at.owner, Format: "json"}
	for _, l := range leaves {
		set.Leaves = append(set.Leaves, reconcile.Leaf{Key: reconcile.LeafKey(l.Key), Body: file.Value(l.Value), Own: reconcile.Member, Origin: from})
	}
	return []reconcile.Declaration{set, {
		Target: reconcile.Address("file:" + at.root + path.Join(folder, manifest)), Owner: at.owner,
		Leaves: []reconcile.Leaf{{Body: file.Whole(append(text, '\n'), 0o644), Origin: from}},
	}}, nil
}
