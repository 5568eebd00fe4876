package apply

import (
	"slices"
	"strings"

	"aisync.dev/aisync/reconcile"
)

// machineManagers install for a machine, not for a person; a spec's packages
// name none of them, so each may be asked for what no other has.
var machineManagers = []string{"pacman", "apt", "brew"}

// toInstall returns the names of the packages that via has to bring, sorted:
// what an apply would install with it, and what is left to somebody else
// because that manager is not there yet.
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
