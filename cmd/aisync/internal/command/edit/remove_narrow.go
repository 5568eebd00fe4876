package edit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/spec"
)

// narrow takes a skill, which may stand behind SOURCE//, out of what the spec takes of
// a source as a whole or by a pattern: what is left is named. It reports whether a
// source on this machine has the skill; several are an error.
func (e *Editing) narrow(ctx context.Context, name string) (bool, error) {
	of, skill, named := strings.Cut(name, "//")
	if !named {
		of, skill = "", name
	}
	w, err := e.App.Loaded(ctx, e.Scope, stack.Look)
	if err != nil {
		return false, err
	}
	sources := &bundle.Sources{Home: e.Places.Physical(e.Places.Home), Resolve: w.Resolver(pin.Look).Source}
	var holders []spec.Source
	var skills []string // of the holder
	var others []bundle.Held
	var tree *bundle.Tree
	for _, src := range e.known() {
		if of != "" && src.Name != of || !e.takesSkill(src, skill) {
			continue
		}
		whole := src
		whole.Pick = nil
		t, err := sources.Open(ctx, whole)
		if err != nil {
			continue // it is not here; byPattern and the list of names say the rest
		}
		for _, h := range t.Holds() {
			if h.What == "skill" && slices.Contains(h.Names, skill) {
				holders, skills, tree = append(holders, src), h.Names, t
				others = slices.DeleteFunc(t.Holds(), func(o bundle.Held) bool { return o.What == "skill" })
			}
		}
	}
	switch {
	case len(holders) == 0:
		return false, nil
	case len(holders) > 1:
		return false, fmt.Errorf("%q may be %s//%s or %s//%s; name one of them", termtext.Safe(skill), holders[0].Name, skill, holders[1].Name, skill)
	}
	src := holders[0]
	if src.Pick.Whole() {
		return false, advice.New(fmt.Errorf("source %s is native for %s, which loads all of it: %s", src.Name, strings.Join(src.Pick.Native, ", "), src.Pos),
			"take out native there first, or remove all of it: aisync remove plugin "+src.Name)
	}
	left := slices.DeleteFunc(slices.Clone(skills), func(s string) bool { return s == skill })
	if src.Pick.Parts() == 0 {
		err = e.nameRest(src, tree, left, others)
	} else {
		err = e.namePatterns(src, skill, left)
	}
	if err == nil {
		e.gone = append(e.gone, listed{name: src.Name + "//" + skill, pos: src.Pos, source: src.Name, narrowed: true})
	}
	return true, err
}

// takesSkill reports whether the spec takes skill of src, if it is there, without
// naming it.
func (e *Editing) takesSkill(src spec.Source, skill string) bool {
	if src.Pick.Parts() > 0 {
		return slices.ContainsFunc(src.Pick.Skills, func(p string) bool { ok, err := path.Match(p, skill); return ok && err == nil })
	}
	return e.Scope == stack.ScopeHost || slices.ContainsFunc(e.spec.Project.Bundles, func(r spec.BundleRef) bool { return r.Source == src.Name && r.Name == "." })
}

// nameRest names the skills that are left of a source that is taken as a whole, and
// takes all else of it by patterns.
func (e *Editing) nameRest(src spec.Source, tree *bundle.Tree, left []string, others []bundle.Held) error {
	fields := map[string]string{"command": "commands", "subagent": "agents", "hook": "hooks", "MCP server": "servers"}
	rest := []edit.Field{edit.Texts("skills", left)}
	for _, h := range others {
		switch {
		case h.What == "rule":
			return onlyWhole(src, "rules")
		case fields[h.What] == "" && h.What != "plugin":
			return advice.New(fmt.Errorf("source %s also has %ss, which no list of skills may go with: %s", src.Name, h.What, src.Pos), "name the bundles of it that you want there")
		}
		if fields[h.What] != "" {
			rest = append(rest, edit.Texts(fields[h.What], []string{"*"}))
		}
	}
	if top, err := tree.Top(); err != nil || len(top.Neutral.Permissions)+len(top.Neutral.Ignored) > 0 {
		return onlyWhole(src, "permissions or ignored files")
	}
	if len(left) == 0 && len(rest) == 1 {
		return advice.Command(fmt.Errorf("source %s has nothing else: %s", src.Name, src.Pos), "aisync remove plugin "+src.Name)
	}
	at := []string{sourcesField(e.Scope), src.Name}
	if len(e.Files.Find(append(slices.Clone(at), "source")...)) == 0 { // as a text alone
		if err := e.Files.Remove(at...); err != nil {
			return err
		}
		return e.Files.Add(edit.Struct(append([]edit.Field{edit.Text("source", bundle.ShortAddress(src.URL))}, rest...)...), at...)
	}
	for _, f := range rest {
		if f.Value == "" {
			continue
		}
		if err := e.Files.Add(f.Value, append(slices.Clone(at), f.Name)...); err != nil {
			return err
		}
	}
	return nil
}

// onlyWhole is the error of a source with parts that no pattern takes.
func onlyWhole(src spec.Source, parts string) error {
	return advice.New(fmt.Errorf("source %s also has %s, which come only with all of it: %s", src.Name, parts, src.Pos), "leave it, or remove all of it: aisync remove plugin "+src.Name)
}

// namePatterns names the skills that are left of the patterns that match skill.
func (e *Editing) namePatterns(src spec.Source, skill string, left []string) error {
	at := []string{sourcesField(e.Scope), src.Name, "skills"}
	has := func(pattern, name string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }
	var kept, named []string
	for _, p := range src.Pick.Skills {
		if !has(p, skill) {
			kept = append(kept, p)
		}
	}
	for _, name := range left {
		covered := func(patterns []string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { return has(p, name) })
		}
		if covered(src.Pick.Skills) && !covered(kept) {
			named = append(named, name)
		}
	}
	if len(kept)+len(named) == 0 {
		return advice.Command(fmt.Errorf("source %s gives no other skill: %s", src.Name, src.Pos), "aisync remove skill '"+src.Name+"//"+src.Pick.Skills[0]+"'")
	}
	for _, name := range named {
		if err := e.Files.Append(edit.String(name), at...); err != nil {
			return err
		}
	}
	for _, p := range src.Pick.Skills {
		if has(p, skill) {
			if found, err := e.Files.RemoveElement(p, at...); err != nil || !found {
				return byHand(listed{name: p, in: at, pos: src.Pos})
			}
		}
	}
	return nil
}
