package apply

import (
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile"
)

// machineManagers lists the package managers that install for the whole machine. A
// package that names no manager may come from any of them.
var machineManagers = []string{"pacman", "apt", "brew"}

// toInstall returns the names of the packages to install with the manager via,
// sorted: those that an apply would install, and those that it leaves out because
// the manager is missing.
func toInstall(p *reconcile.Plan, via string) []string {
	var out []string
	add := func(a reconcile.Address) {
		by, name, named := strings.Cut(a.Name(), "/")
		switch {
		case a.Kind() != "package":
		case named && by == via:
			out = append(out, name)
		case !named && slices.Contains(machineManagers, via):
			out = append(out, a.Name())
		}
	}
	for _, c := range p.Changes {
		if c.Action == reconcile.Create || c.Action == reconcile.Update {
			add(c.Target.Resource.Address)
		}
	}
	for _, u := range p.Unsupported {
		add(u.Address)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
