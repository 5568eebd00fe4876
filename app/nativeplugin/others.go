package nativeplugin

import (
	"slices"

	"aisync.dev/aisync/schema/spec"
)

// OthersOfHost is h as it is for the programs that get plugins translated.
func OthersOfHost(h *spec.Host) *spec.Host {
	out := *h
	out.Bundles = nil
	var all []string
	for _, u := range h.Runtimes {
		all = append(all, u.ID)
	}
	for _, b := range h.Bundles {
		if rest, ok := others(b.Pick, all, nil); ok {
			b.Pick = rest
			out.Bundles = append(out.Bundles, b)
		}
	}
	return &out
}

// OthersOfProject is p as it is for the programs that get plugins translated: not
// those of runtimes that load what Claude Code's settings name.
func OthersOfProject(p *spec.Project, runtimes []spec.Runtime) *spec.Project {
	out := *p
	out.Sources = slices.Clone(p.Sources)
	out.Bundles = slices.Clone(p.Bundles)
	var all []string
	for _, n := range p.Runtimes {
		all = append(all, n.Value)
	}
	if p.Local != nil {
		for _, n := range p.Local.Runtimes {
			all = append(all, n.Value)
		}
	}
	var too []string
	if used(p) {
		too = loadToo(runtimes)
	}
	for i, s := range p.Sources {
		rest, ok := others(s.Pick, all, too)
		if !ok {
			out.Bundles = slices.DeleteFunc(out.Bundles, func(r spec.BundleRef) bool { return r.Source == s.Name && r.Name == "." })
			continue
		}
		out.Sources[i].Pick = rest
	}
	return &out
}

// used reports whether the program is one of p.
func used(p *spec.Project) bool {
	return slices.ContainsFunc(p.Runtimes, func(n spec.Named) bool { return n.Value == Program })
}

// loadToo are the other programs that load the plugins which the program's settings in
// a project enable. Copilot CLI 1.0.102 had each part of one, in a project and not in a
// home.
func loadToo(runtimes []spec.Runtime) (ids []string) {
	for _, rt := range runtimes {
		if rt.ID != Program && slices.ContainsFunc(rt.Project.Obeys, func(o spec.Obeyed) bool {
			return slices.Contains(o.Files, settings) && slices.Contains(o.Reads, "/enabledPlugins")
		}) {
			ids = append(ids, rt.ID)
		}
	}
	return ids
}

// others is what is left of p without the programs that take it natively, and without
// too; false: no program is left.
func others(p *spec.Pick, all, too []string) (*spec.Pick, bool) {
	if !p.Whole() {
		return p, true
	}
	if len(p.Runtimes) > 0 {
		all = p.Runtimes
	}
	rest := *p
	rest.Runtimes = slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(p.Native, id) || slices.Contains(too, id) })
	return &rest, len(rest.Runtimes) > 0
}
