package adapter

import (
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// neutral gives every runtime the neutral parts of a bundle, and reports what a
// runtime cannot take.
func (b *builder) neutral(places []place, w bundleRequest) {
	n := w.part.Neutral
	if !w.again {
		b.prompts(places, w, "commands", n.Commands, commandWords(), func(s spec.Scope) *spec.PromptFolder { return s.Commands })
		b.prompts(places, w, "subagents", n.Agents, agentWords(), func(s spec.Scope) *spec.PromptFolder { return s.Agents })
		b.events(places, w, n)
		b.permissions(places, w, n.Permissions)
	}
	b.ignored(places, w, w.below(n.Ignored))
}

// isFor reports whether an item with these runtime ids is for p; no ids mean
// all runtimes.
func (p place) isFor(ids []string) bool { return len(ids) == 0 || slices.Contains(ids, p.rt.ID) }

// permissions merges the permissions of agents into each program's settings.
func (b *builder) permissions(places []place, w bundleRequest, perms []bundle.Permission) {
	var without []string
	warn := slices.ContainsFunc(perms, func(perm bundle.Permission) bool { return perm.Action == "deny" })
	for _, p := range places {
		var lost, denied []string
		for _, perm := range perms {
			if b.permission(p, w, perm) {
				continue
			}
			if lost = append(lost, perm.Action+" "+perm.String()); perm.Action == "deny" {
				denied = append(denied, perm.String())
			}
		}
		switch {
		case len(lost) == 0:
		case p.scope.Permissions == nil:
			without = append(without, p.rt.ID)
		default:
			b.note(len(denied) > 0, w.origin, "%s cannot express these permissions of %s, so they are not set: %s", p.rt.ID, w.label, shortened(lost))
		}
	}
	if len(without) > 0 {
		b.note(warn, w.origin, "the permissions of %s are not for %s, which has no file for them in this scope", w.label, list(without))
	}
}

// permission declares one permission, and reports whether the program of p can
// express it.
func (b *builder) permission(p place, w bundleRequest, perm bundle.Permission) bool {
	f := p.scope.Permissions
	if f == nil {
		return false
	}
	if f.Shape == render.ShapeCodex {
		rule, ok := render.CodexRule(perm.Action, perm.Tool, perm.Pattern)
		if ok {
			b.line(f.Path, strings.TrimSuffix(rule, "\n"), w)
		}
		return ok
	}
	settings := render.Permission(f.Shape, p.rt.Tools, perm.Action, perm.Tool, perm.Pattern)
	for _, s := range settings {
		b.setting(f.Path, f.Format, s, w, p.rt.ID)
	}
	return len(settings) > 0
}

// setting declares one leaf of a settings file.
func (b *builder) setting(name, format string, s render.Setting, w bundleRequest, asker string) {
	ref := spec.Reference{Path: name, Format: format, Pointer: merge.Pointer(s.Pointer...), JSON: s.Value}
	if s.Member {
		ref.Pointer += "/-"
	}
	b.reference(ref, w.origin, asker)
}

// line declares one line of a text file.
func (b *builder) line(name, line string, w bundleRequest) {
	b.leaf(fileAt(name), merge.Text, reconcile.Leaf{
		Key:    reconcile.LeafKey(merge.LineKey(line)),
		Body:   file.Line("# --- " + w.part.Name + " ruleset ---"),
		Own:    reconcile.Member,
		Origin: w.origin,
	}, w.label)
}

// ignored tells each program which files not to read: by its ignore list, or by
// its permissions.
func (b *builder) ignored(places []place, w bundleRequest, patterns []string) {
	if len(patterns) == 0 {
		return
	}
	var without []string
	for _, p := range places {
		if p.scope.Ignore != "" {
			for _, pattern := range patterns {
				b.line(p.scope.Ignore, pattern, w)
			}
			continue
		}
		var lost []string
		for _, pattern := range patterns {
			if path, ok := render.Readable(pattern); !ok || !b.permission(p, w, bundle.Permission{Action: "deny", Tool: "read", Pattern: path}) {
				lost = append(lost, pattern)
			}
		}
		switch {
		case len(lost) == len(patterns):
			without = append(without, p.rt.ID)
		case len(lost) > 0:
			b.note(true, w.origin, "%s is not told to ignore %s, as %s asks: it cannot express that", p.rt.ID, shortened(lost), w.label)
		}
	}
	if len(without) > 0 {
		b.note(true, w.origin, "the ignored files of %s (%s) are not for %s, which has no ignore list in this scope", w.label, shortened(patterns), list(without))
	}
}
