package edit

import (
	"slices"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// Kind is a kind of entry that add and remove edit.
type Kind struct {
	name     string // as in: aisync add runtime
	hostOnly bool
	listed   func(*spec.Spec, stack.Scope) []listed
}

// listed is one entry of a spec.
type listed struct {
	name string
	path []string // of its field, or nil
	in   []string // of the list that contains it, or nil
	pos  spec.Position

	element string // of that list; "": name
	source  string // of which it is a part, or which it is; "": none
	also    string // another name of it; "": none

	narrowed bool // the source stays, with the rest of it named
}

var kinds = []Kind{
	{"runtime", false, func(s *spec.Spec, where stack.Scope) (out []listed) {
		if where == stack.ScopeProject {
			for _, r := range s.Project.Runtimes {
				out = append(out, listed{name: r.Value, in: []string{"runtimes"}, pos: r.Pos})
			}
			return out
		}
		for _, r := range s.Host.Runtimes {
			out = append(out, listed{name: r.ID, path: []string{"runtimes", r.ID}, pos: r.Pos})
		}
		return out
	}},
	{"bundle", false, func(s *spec.Spec, where stack.Scope) (out []listed) {
		if where == stack.ScopeProject {
			return slices.Concat(bundlesIn("bundles", s.Project.Bundles), bundlesIn("teams", s.Project.Teams))
		}
		for _, b := range s.Host.Bundles {
			out = append(out, listed{name: b.Name, path: []string{"bundles", b.Name}, pos: b.Pos})
		}
		return out
	}},
	{"skill", false, func(s *spec.Spec, where stack.Scope) (out []listed) {
		for _, src := range sourcesIn(s, where) {
			if src.Pick == nil {
				continue
			}
			for _, name := range src.Pick.Skills {
				out = append(out, listed{name: src.Name + "//" + name, in: []string{sourcesField(where), src.Name, "skills"}, pos: src.Pos, element: name, source: src.Name})
			}
		}
		return out
	}},
	{"plugin", false, func(s *spec.Spec, where stack.Scope) (out []listed) {
		for _, src := range sourcesIn(s, where) {
			if src.From != "" || (src.Pick.Parts() == 0 || src.Pick.Parts() > len(src.Pick.Skills)) && (bundle.Remote(src.URL) || takenWhole(s, where, src.Name)) {
				out = append(out, listed{name: src.Name, path: []string{sourcesField(where), src.Name}, pos: src.Pos, source: src.Name, also: src.From})
			}
		}
		return out
	}},
	{"model", true, func(s *spec.Spec, _ stack.Scope) (out []listed) {
		for _, m := range s.Host.Models {
			out = append(out, listed{name: m.ID, path: []string{"models", m.ID}, pos: m.Pos})
		}
		return out
	}},
	{"service", true, func(s *spec.Spec, _ stack.Scope) (out []listed) {
		for _, v := range s.Host.Services {
			out = append(out, listed{name: v.Name, path: []string{"services", v.Name}, pos: v.Pos})
		}
		return out
	}},
	{"mcp", false, func(s *spec.Spec, where stack.Scope) (out []listed) {
		var servers []spec.MCPServer
		if where == stack.ScopeHost {
			servers = s.Host.MCP
		} else {
			servers = s.Project.MCP
		}
		for _, m := range servers {
			out = append(out, listed{name: m.Name, path: []string{"mcp", m.Name}, pos: m.Pos})
		}
		return out
	}},
}

// takenWhole reports whether a spec takes nothing of a source but all of its top, as
// add plugin writes it of a folder.
func takenWhole(s *spec.Spec, where stack.Scope, source string) bool {
	if where == stack.ScopeHost {
		return true
	}
	whole := false
	for _, r := range slices.Concat(s.Project.Bundles, s.Project.Teams) {
		if r.Source == source && r.Name != "." {
			return false
		}
		whole = whole || r.Source == source
	}
	return whole
}

// sourcesIn returns the sources of a spec, and sourcesField the field that has them.
func sourcesIn(s *spec.Spec, where stack.Scope) []spec.Source {
	if where == stack.ScopeProject {
		return s.Project.Sources
	}
	var out []spec.Source
	for _, b := range s.Host.Bundles {
		out = append(out, bundle.OfHost(b, s.Host.Dir))
	}
	return out
}

func sourcesField(where stack.Scope) string {
	if where == stack.ScopeProject {
		return "sources"
	}
	return "bundles"
}

func bundlesIn(list string, refs []spec.BundleRef) []listed {
	var out []listed
	for _, r := range refs {
		name := r.Name
		if r.Source != "" {
			name = r.Source + "//" + r.Name
		}
		out = append(out, listed{name: name, in: []string{list}, pos: r.Pos})
	}
	return out
}

// KindOf returns the kind called name, which must exist.
func KindOf(name string) Kind {
	return kinds[slices.IndexFunc(kinds, func(k Kind) bool { return k.name == name })]
}

// scope returns which spec to edit: asked, or without it the project's inside a
// project that can hold entries of this kind, else the host's.
func (k Kind) scope(asked string, inProject bool) (stack.Scope, error) {
	switch stack.Scope(asked) {
	case "":
		if inProject && !k.hostOnly {
			return stack.ScopeProject, nil
		}
		return stack.ScopeHost, nil
	case stack.ScopeHost:
		return stack.ScopeHost, nil
	case stack.ScopeProject:
		if !k.hostOnly {
			return stack.ScopeProject, nil
		}
		return "", cli.Usagef("--scope project: a %s belongs in a host's spec; use --scope host", k.name)
	}
	return "", cli.Usagef("--scope %q: want host or project", asked)
}
