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
		if rest, ok := others(b.Pick, all); ok {
			b.Pick = rest
			out.Bundles = append(out.Bundles, b)
		}
	}
	return &out
}

// OthersOfProject is p as it is for the programs that get plugins translated.
func OthersOfProject(p *spec.Project) *spec.Project {
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
	for i, s := range p.Sources {
		rest, ok := others(s.Pick, all)
		if !ok {
			out.Bundles = slices.DeleteFunc(out.Bundles, func(r spec.BundleRef) bool { return r.Source == s.Name && r.Name == "." })
			continue
		}
		out.Sources[i].Pick = rest
	}
	return &out
}

// others is what is left of p without the programs that take it natively; false: no
// program is left.
func others(p *spec.Pick, all []string) (*spec.Pick, bool) {
	if !native(p) {
		return p, true
	}
	if len(p.Runtimes) > 0 {
		all = p.Runtimes
	}
	rest := *p
	rest.Runtimes = slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(p.Native, id) })
	return &rest, len(rest.Runtimes) > 0
}
