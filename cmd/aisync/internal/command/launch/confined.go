package launch

import (
	"context"
	"fmt"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/schema/spec"
)

// TaskNetwork returns whether the host's spec lets the tasks in repo use the network.
func TaskNetwork(ctx context.Context, a *cli.App, repo string) (task.Network, error) {
	s, _, p, err := SpecFor(ctx, a, repo)
	if err != nil {
		return task.Network{}, err
	}
	return networkOf(s.Host, p), nil
}

func networkOf(h *spec.Host, p place.Places) task.Network {
	const field = "tasks: network: true"
	if h == nil || h.Builtin {
		return task.Network{Field: field + " in a host's spec in " + p.Config + " (aisync init writes one)"}
	}
	return task.Network{Allowed: h.TaskNetwork.On, Field: fmt.Sprintf("%s for host %s in %s", field, h.Name, h.Pos)}
}

// Tasks returns what the programs of host depend on that work in a sandbox.
func Tasks(a *cli.App, p place.Places, host *spec.Host, index catalog.Index) *start.Tasks {
	path := a.Env.Get("PATH")
	look := func(name string) string {
		at, _ := launch.LookPath(name, path)
		return at
	}
	return &start.Tasks{
		Machine: Programs(a, p), Host: host, Known: index, Loopback: endpoint.Loopback,
		Show: sandbox.Toolchains(p.Physical(p.Home)), Folders: func(program string) []string { return sandbox.ProgramFolders(program, look) },
	}
}

// Sandbox returns what the sandboxes of workers in root are made from, as the
// host's spec says.
func Sandbox(ctx context.Context, a *cli.App, root string) start.Sandbox {
	s, index, p, err := SpecFor(ctx, a, root)
	if err != nil {
		return start.Sandbox{Err: fmt.Errorf("the host's spec says what a sandbox shows, and cannot be read: %w", err)}
	}
	net := networkOf(s.Host, p)
	out := start.Sandbox{Path: a.Env.Get("PATH"), Network: net.Allowed, NetworkField: net.Field, Program: Tasks(a, p, s.Host, index).Program}
	home := p.Physical(p.Home)
	out.Box.Home, out.Box.Show = home, sandbox.Toolchains(home)
	if s.Host != nil {
		for _, at := range s.Host.TaskShow {
			out.Box.Show = append(out.Box.Show, p.Expand(at.Value))
		}
	}
	out.Box.Way, out.Err = sandbox.Find(ctx)
	return out
}
