package edit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/bundle/items"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// byPattern returns an error for a skill that the spec takes by a pattern and does not
// name; nil if no pattern matches it.
func (e *Editing) byPattern(name string) error {
	of, skill, named := strings.Cut(name, "//")
	if !named {
		of, skill = "", name
	}
	for _, src := range e.known() {
		if src.Pick == nil || of != "" && src.Name != of {
			continue
		}
		for _, pattern := range src.Pick.Skills {
			if ok, err := path.Match(pattern, skill); ok && err == nil {
				return advice.New(fmt.Errorf("source %s has skill %s by the pattern %q: %s", src.Name, termtext.Safe(skill), pattern, src.Pos),
					fmt.Sprintf("name there the skills that you want, or remove all of the pattern: aisync remove skill '%s//%s'", src.Name, pattern))
			}
		}
	}
	return nil
}

// afterRemoval removes what no longer has a meaning: a source of which nothing is
// taken. Its notes say what the next apply removes.
func (e *Editing) afterRemoval(ctx context.Context, k Kind) error {
	var gone []string // sources
	for _, src := range e.known() {
		mine := 0
		for _, l := range e.gone {
			if l.source == src.Name && !l.narrowed {
				mine++
			}
		}
		switch {
		case mine == 0:
			continue
		case k.name == "plugin":
			gone = append(gone, src.Name)
		case src.Pick.Parts() == mine: // all that it takes
			if err := e.Files.Remove(sourcesField(e.Scope), src.Name); err != nil {
				return err
			}
			gone = append(gone, src.Name)
		}
	}
	for _, name := range gone {
		if err := e.removeBundles(name); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		e.written = func(fsys.FS) { e.dropPins(ctx) }
	}
	return e.noteRemoval(ctx, k)
}

// removeBundles removes the bundles of a project that name a source.
func (e *Editing) removeBundles(source string) error {
	if e.Scope == stack.ScopeHost {
		return nil // there the source is the bundle
	}
	remove := func(refs []spec.BundleRef, in ...string) error {
		of := func(r spec.BundleRef) bool { return r.Source == source && r.Place == "" }
		if len(refs) > 0 && !slices.ContainsFunc(refs, func(r spec.BundleRef) bool { return !of(r) }) {
			return e.Files.Remove(in...) // no empty list stays
		}
		for _, r := range refs {
			if !of(r) {
				continue
			}
			if _, err := e.Files.RemoveElement(source+"//"+r.Name, in...); err != nil {
				return err
			}
		}
		return nil
	}
	p := e.spec.Project
	errs := []error{remove(p.Bundles, "bundles"), remove(p.Teams, "teams")}
	for _, at := range p.Places {
		errs = append(errs, remove(at.Bundles, "places", at.Folder, "bundles"), remove(at.Teams, "places", at.Folder, "teams"))
	}
	return errors.Join(errs...)
}

// dropPins removes the pins of sources that the written spec no longer has. A pin that
// stays does no harm, so a failure is a warning.
func (e *Editing) dropPins(ctx context.Context) {
	s, err := e.App.Held(ctx, e.Scope, 0, "aisync remove", stack.HoldLoaded)
	if err == nil {
		defer s.Release()
		for _, f := range s.Locks() {
			if names, ok := s.Resolver(pin.Look).Sources(f); ok {
				f.KeepSources(names)
			}
		}
		err = s.SaveLocks(ctx)
	}
	if err != nil {
		e.App.Say("aisync: warning: the pin stays in %s until aisync lock: %s", pin.FileName, termtext.Safe(err.Error()))
	}
}

// noteRemoval says what the next apply removes because of e, as far as the sources are
// on this machine.
func (e *Editing) noteRemoval(ctx context.Context, k Kind) error {
	if k.name == "mcp" {
		for _, l := range e.gone {
			e.Notes = append(e.Notes, "the next apply removes MCP server "+l.name)
		}
		return nil
	}
	if k.name != "skill" && k.name != "plugin" {
		return nil
	}
	if _, err := e.Check(ctx, k); err != nil {
		return err
	}
	w, err := e.App.Loaded(ctx, e.Scope, stack.Look)
	if err != nil {
		return err
	}
	sources := &bundle.Sources{Home: e.Places.Physical(e.Places.Home), Resolve: w.Resolver(pin.Look).Source}
	var done []string
	for _, l := range e.gone {
		if slices.Contains(done, l.source) {
			continue
		}
		done = append(done, l.source)
		y := e.only(l.source, e.spec, sources)
		before, _, err := y.Taken(ctx, l.source)
		if err != nil {
			e.Notes = append(e.Notes, "what source "+l.source+" brought is not on this machine: aisync plan says what goes")
			continue
		}
		var left []*items.Item
		if parts, _, err := e.only(l.source, e.after, sources).Taken(ctx, l.source); err == nil {
			left = items.Of(parts...)
		}
		var goes []*items.Item
		for _, i := range items.Of(before...) {
			if !slices.ContainsFunc(left, func(o *items.Item) bool { return o.Key() == i.Key() }) {
				goes = append(goes, i)
			}
		}
		for _, g := range items.Grouped(goes, func(i *items.Item) string { return strings.Join(y.For(i.Alone), ", ") }) {
			if g.Of != "" {
				e.Notes = append(e.Notes, fmt.Sprintf("the next apply removes from %s %s: %s", g.Of, quantity.Count(len(g.Names), g.Kind), strings.Join(g.Names, ", ")))
			}
		}
	}
	return nil
}
