package apply

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/needs"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/reconcile"
)

// machineManagers lists the package managers that install for the whole machine. A
// package that names no manager may come from any of them.
var machineManagers = []string{"pacman", "apt", "brew"}

// openFor opens a view of the machine as it is once the manager via is there, which
// installs what is printed.
func openFor(via string) func(context.Context, *stack.Machine, stack.Scope) (*stack.View, error) {
	return func(ctx context.Context, m *stack.Machine, s stack.Scope) (*stack.View, error) {
		look := m.Facts
		m.Facts = func() (facts.Facts, error) {
			f, err := look()
			if program := packages.Installer(via); program != "" && !slices.Contains(f.Managers, program) {
				f.Managers = append(slices.Clone(f.Managers), program)
			}
			return f, err
		}
		return stack.Open(ctx, m, s)
	}
}

// lacking returns the names of the packages of the manager via with the programs that
// the spec needs and the machine lacks.
func lacking(v *stack.View, via string) ([]string, error) {
	f, err := v.Facts()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range needs.Of(v.Spec, v.Catalog.Runtimes(), &f) {
		there := f.Programs[n.Program] != "" || slices.Contains(f.Managers, n.Program) ||
			v.FactsFile == "" && hosts.FindProgram(v.Places.Root, filepath.SplitList(v.Env.Get("PATH")), n.Program) != ""
		if name := n.Package(via); name != "" && !there {
			out = append(out, name)
		}
	}
	return out, nil
}

// toInstall returns the names of the packages to install with the manager via,
// sorted: more, those that an apply would install, and those that it leaves out
// because the manager is missing.
func toInstall(p *reconcile.Plan, via string, more []string) []string {
	out := slices.Clone(more)
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
