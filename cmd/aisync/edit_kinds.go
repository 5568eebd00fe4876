package main

import (
	"slices"

	"aisync.dev/aisync/schema/spec"
)

// kind is a kind of thing that is added to a spec and removed from it.
type kind struct {
	name     string // as in: aisync add runtime
	hostOnly bool
	listed   func(*spec.Spec, Scope) []listed
}

// listed is one thing that a spec names.
type listed struct {
	name string
	path []string // of its field
	in   []string // or of the list that it is an element of
	pos  spec.Position
}

var kinds = []kind{
	{"runtime", false, func(s *spec.Spec, where Scope) (out []listed) {
		if where == ScopeProject {
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
	{"bundle", false, func(s *spec.Spec, where Scope) (out []listed) {
		if where == ScopeProject {
			return slices.Concat(bundlesIn("bundles", s.Project.Bundles), bundlesIn("teams", s.Project.Teams))
		}
		for _, b := range s.Host.Bundles {
			out = append(out, listed{name: b.Name, path: []string{"bundles", b.Name}, pos: b.Pos})
		}
		return out
	}},
	{"model", true, func(s *spec.Spec, _ Scope) (out []listed) {
		for _, m := range s.Host.Models {
			out = append(out, listed{name: m.ID, path: []string{"models", m.ID}, pos: m.Pos})
		}
		return out
	}},
	{"service", true, func(s *spec.Spec, _ Scope) (out []listed) {
		for _, v := range s.Host.Services {
			out = append(out, listed{name: v.Name, path: []string{"services", v.Name}, pos: v.Pos})
		}
		return out
	}},
	{"mcp", false, func(s *spec.Spec, where Scope) (out []listed) {
		var servers []spec.MCPServer
		if where == ScopeHost {
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

// kindOf is the kind of that name, which is one of them.
func kindOf(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

// scope is where a thing of this kind is added or removed: what was asked for,
// or the project inside one if it can hold it.
func (k kind) scope(asked string, inProject bool) (Scope, error) {
	switch Scope(asked) {
	case "":
		if inProject && !k.hostOnly {
			return ScopeProject, nil
		}
		return ScopeHost, nil
	case ScopeHost:
		return ScopeHost, nil
	case ScopeProject:
		if !k.hostOnly {
			return ScopeProject, nil
		}
		return "", usagef("--scope project: a project's spec says nothing about a machine, so a %s belongs to a host's", k.name)
	}
	return "", usagef("--scope %q: want host or project", asked)
}
