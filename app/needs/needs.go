// Package needs tells which programs a spec needs on the machine: to install what
// it names, to start it, and for aisync itself. It looks at no machine and starts
// nothing. Call Of.
package needs

import (
	"cmp"
	"slices"
	"strings"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/schema/spec"
)

// Of returns what s needs of a machine with the facts f: what comes first in the
// spec first, and a program once. Runtimes are those of the whole catalog.
func Of(s *spec.Spec, runtimes []spec.Runtime, f *facts.Facts) []packages.Need {
	var all []packages.Need
	add := func(pos spec.Position, reason string, programs ...string) {
		for _, p := range programs {
			all = append(all, packages.Need{Program: p, For: reason, Pos: pos})
		}
	}
	windows := func(id string, pos spec.Position) {
		for _, rt := range runtimes {
			if rt.ID == id && rt.Worker != nil && rt.Worker.Substrate == "tmux" {
				add(pos, id+" works in a window of it", "tmux")
			}
		}
	}
	if h := s.Host; h != nil {
		all = append(all, packages.Host{Spec: h, Runtimes: runtimes, Facts: f}.Needs()...)
		all = append(all, service.Needs(h, f)...)
		for _, use := range h.Runtimes {
			windows(cmp.Or(use.CLI, use.ID), use.Pos)
		}
		for _, b := range h.Bundles {
			if byGit(b.Source) {
				add(b.Pos, "it fetches "+b.Name, "git")
			}
		}
		if h.Nightly != nil {
			add(h.Nightly.Pos, "nightly work has a work tree and a sandbox", "git", "bwrap")
		}
	}
	if p := s.Project; p != nil {
		for _, m := range p.MCP {
			all = append(all, packages.Starts(m)...)
		}
		for _, r := range p.Runtimes {
			windows(r.Value, r.Pos)
		}
		for _, src := range p.Sources {
			if byGit(src.URL) {
				add(src.Pos, "it fetches "+src.Name, "git")
			}
		}
		for _, on := range []spec.Flag{p.Agents.Tasks, p.Agents.Runs} {
			if on.On {
				add(on.Pos, "agents work in work trees and a sandbox", "git", "bwrap")
			}
		}
		if !p.NoGitHooks && len(p.Bundles)+len(p.Teams) > 0 {
			add(p.Pos, "it runs the hooks of the project", "git")
		}
	}
	var out []packages.Need
	for _, n := range all {
		if !slices.ContainsFunc(out, func(o packages.Need) bool { return o.Program == n.Program }) {
			out = append(out, n)
		}
	}
	return out
}

// byGit reports whether git fetches a source.
func byGit(source string) bool { return bundle.Remote(source) && strings.HasPrefix(source, "git::") }
