package edit

import (
	"slices"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/schema/spec"
)

// Kind is a kind of thing that is added to a spec and removed from it.
type Kind struct {
	name     string // as in: aisync add runtime
	hostOnly bool
	listed   func(*spec.Spec, stack.Scope) []listed
}

// listed is one thing that a spec names.
type listed struct {
	name string
	path []string // of its field
	in   []string // or of the list that it is an element of
	pos  spec.Position
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

// KindOf is the kind of that name, which is one of them.
func KindOf(name string) Kind {
	return kinds[slices.IndexFunc(kinds, func(k Kind) bool { return k.name == name })]
}

// scope is where a thing of this kind is added or removed: what was asked for,
// or the project inside one if it can hold it.
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
		return "", cli.Usagef("--scope project: a project's spec says nothing about a machine, so a %s belongs to a host's", k.name)
	}
	return "", cli.Usagef("--scope %q: want host or project", asked)
}
