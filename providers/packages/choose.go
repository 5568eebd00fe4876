package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// Open reports whether the spec of a host leaves an installer to Choose.
func Open(h *spec.Host) bool {
	several := func(in *spec.Install) bool { return in != nil && len(in.Ways) > 1 }
	return slices.ContainsFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return several(u.Install) }) ||
		slices.ContainsFunc(h.Services, func(s spec.Service) bool { return several(s.Install) })
}

// Choose sets the installer of each runtime and service whose spec names several:
// the one that has installed it already, otherwise the first that can be used on
// this machine. The reasons are clauses, by the place of install in the spec. The
// error joins those of which none can be used; they keep the first.
func (h Host) Choose(ctx context.Context) (reasons map[spec.Position]string, _ error) {
	reasons = map[spec.Position]string{}
	var errs []error
	choose := func(what, program string, in *spec.Install, pkg func(via string) (string, error)) {
		if in == nil || len(in.Ways) < 2 {
			return
		}
		via, why, err := h.choice(ctx, in, pkg)
		switch {
		case err == nil:
			in.Via, reasons[in.Pos] = via, why
		case in.Version != "" || h.program(program) == "": // else it is here, from elsewhere
			errs = append(errs, fmt.Errorf("%s: %s cannot be installed here: %w; install one of these, or name another installer in via", in.Pos, what, err))
		}
	}
	for _, use := range h.Spec.Runtimes {
		for _, rt := range h.Runtimes {
			if rt.ID == use.ID {
				choose(use.ID, rt.Command, use.Install, func(via string) (string, error) {
					return rt.Packages[via], h.suitsNode(ctx, use, rt, via)
				})
			}
		}
	}
	for _, s := range h.Spec.Services {
		choose("service "+s.Name, "", s.Install, func(via string) (string, error) { return h.ServicePackage(s, via) })
	}
	return reasons, errors.Join(errs...)
}

// choice returns the installer of in, and why it is that one. pkg returns the
// package of an installer, or why it cannot be had.
func (h Host) choice(ctx context.Context, in *spec.Install, pkg func(via string) (string, error)) (via, why string, _ error) {
	for _, way := range in.Ways {
		if name, _ := pkg(way); name != "" && h.Recorded(Address(way, name)) {
			return way, "it is installed with " + way + " already", nil
		}
	}
	var not []string
	for _, way := range in.Ways {
		_, err := pkg(way)
		if err = cmp.Or(h.usable(way), err); err != nil {
			not = append(not, fmt.Sprintf("%s: %s", way, err))
			continue
		}
		if len(not) == 0 {
			return way, way + " is the first in the spec", nil
		}
		return way, "with " + way + ", as the installers before it cannot be used (" + strings.Join(not, "; ") + ")", nil
	}
	return "", "", errors.New(strings.Join(not, "; "))
}

// usable returns why an installer cannot be used on this machine.
func (h Host) usable(via string) error {
	m := managerOf(via)
	switch {
	case m == nil:
		return errors.New("this version does not install with it")
	case m.manual != "":
		return errors.New(m.manual)
	case h.Rooted && !m.rooted:
		return errors.New("it cannot work below another root")
	case m.program == "" || h.has(m.program) || h.supplied(m.program):
		return nil
	case h.Rooted && h.Outside != nil && h.Outside(m.program):
		return nil
	}
	return fmt.Errorf("%s is not in PATH", m.program)
}

// suitsNode returns why the Node of this machine does not suit a runtime out of npm.
func (h Host) suitsNode(ctx context.Context, use spec.RuntimeUse, rt spec.Runtime, via string) error {
	if via != npm.name || use.Install.Node != "" || h.Node == nil || h.usable(via) != nil || h.supplied("node") {
		return nil
	}
	var d Declared
	h.runsOnNode(&d, use.ID, rt.Packages[via], use.Install.Version, rt.Node, use.Install.Pos)
	for _, u := range d.users {
		if node := h.Node(ctx); !node.fits(u.needs) {
			return &oldNode{u.what, u.version, u.needs, node}
		}
	}
	return nil
}

// explainChoice adds to the reasons of packages why they come from that installer.
func (h Host) explainChoice(d *Declared) {
	for i, x := range d.Declarations {
		for j, l := range x.Leaves {
			for _, pos := range l.Origin {
				why := h.Why[spec.Position(pos)]
				if _, name := split(x.Target); why == "" || x.Target.Kind() != "package" || isNode(name) {
					continue
				}
				if l.Reason != "" {
					why += "; " + l.Reason
				}
				d.Declarations[i].Leaves[j].Reason = why
			}
		}
	}
}
