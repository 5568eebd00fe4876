package launch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/services"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// loadLimit is how long a launch waits for a server that loads its model.
const loadLimit = 5 * time.Minute

// reached returns l once its program has a server to talk to, or the launch of a
// program of this machine that the person takes in its place. refused is why l cannot
// be started without a network; nil: it can.
func reached(ctx context.Context, a *cli.App, l *Launcher, refused error) (*Launcher, error) {
	s := l.Program.Service
	switch {
	case refused != nil:
		return instead(ctx, a, l, l.Choice.Runtime.DisplayName+" needs a network, and this is offline", refused)
	case s.Name != "":
		return served(ctx, a, l, s)
	case a.Flags.Offline || !l.Choice.Runtime.Network || l.goesElsewhere(a):
		return l, nil
	}
	hosts := l.Choice.Runtime.Launch.Hosts
	if len(hosts) == 0 || endpoint.Reachable(ctx, hosts, proxyOf(a)) {
		return l, nil
	}
	why := fmt.Sprintf("%s cannot reach %s", l.Choice.Runtime.DisplayName, strings.Join(hosts, " or "))
	return instead(ctx, a, l, why, fmt.Errorf("%s: %w", why, reconcile.ErrOffline))
}

// goesElsewhere reports whether the person sends l's program to another host.
func (l *Launcher) goesElsewhere(a *cli.App) bool {
	return slices.ContainsFunc(l.Choice.Runtime.Launch.Elsewhere, func(name string) bool { return a.Env.Get(name) != "" || l.Program.Environment[name] != "" })
}

// proxyOf returns the URL of the proxy for TLS; "" without one.
func proxyOf(a *cli.App) string {
	return cmp.Or(a.Env.Get("HTTPS_PROXY"), a.Env.Get("https_proxy"), a.Env.Get("ALL_PROXY"), a.Env.Get("all_proxy"))
}

// instead asks whether to start a program of this machine in place of l's, for the
// reason why; err is the same as an error. Where no program of this machine can be
// started, l stays unless err comes from --offline: its program may know better.
func instead(ctx context.Context, a *cli.App, l *Launcher, why string, err error) (*Launcher, error) {
	local := Programs(a, l.places).Locals(l.root, l.host, l.catalog, l.Program.Service.Name)
	if len(local) == 0 {
		if a.Flags.Offline || l.Program.Service.Name != "" {
			return l, err
		}
		a.Say("aisync: %s", why)
		return l, nil
	}
	id := local[0].Runtime.ID
	other, failed := Prepare(ctx, a, l.root, id)
	if failed != nil {
		return l, failed
	}
	if !a.Terminal() {
		return l, advice.Command(err, "ai --runtime "+id+" "+shellquote.Terminal(l.root))
	}
	yes, failed := a.AskForYes(fmt.Sprintf("%s; start %s instead?", why, described(other)))
	switch {
	case failed != nil:
		return l, failed
	case !yes && (a.Flags.Offline || l.Program.Service.Name != ""):
		return l, err
	case !yes:
		return l, nil
	}
	return served(ctx, a, other, other.Program.Service)
}

// described names a launch with its program and model: local-openai (opencode, qwen3-8b).
func described(l *Launcher) string {
	var more []string
	for _, word := range []string{l.Program.Runtime.ID, cmp.Or(l.Program.Model, strings.Join(service.ModelsOf(l.Program.Service), ", "))} {
		if word != "" && word != l.Choice.Runtime.ID {
			more = append(more, word)
		}
	}
	if len(more) == 0 {
		return l.Choice.Runtime.ID
	}
	return l.Choice.Runtime.ID + " (" + strings.Join(more, ", ") + ")"
}

// served returns l once its service s answers. It offers to start one that aisync
// runs, and a program of another service in place of one that it does not.
func served(ctx context.Context, a *cli.App, l *Launcher, s spec.Service) (*Launcher, error) {
	url := service.BaseURL(s)
	if a.Flags.Offline && !endpoint.Loopback(url) {
		return l, nil // nothing beyond this machine is dialled
	}
	at := asked(a, s)
	state := at.State(ctx)
	if state == endpoint.Silent && service.Runs(s) {
		down := advice.Command(fmt.Errorf("service %s, to which %s talks, does not run", s.Name, l.Choice.Runtime.ID), "aisync services start "+s.Name)
		if !a.Terminal() {
			return l, down
		}
		yes, err := a.AskForYes(fmt.Sprintf("Service %s, to which %s talks, does not run. Start it?", s.Name, l.Choice.Runtime.ID))
		if err != nil {
			return l, err
		}
		if !yes {
			return l, down
		}
		if err := services.Start(ctx, a, s.Name); err != nil {
			return l, err
		}
		state = at.State(ctx)
	}
	switch state {
	case endpoint.Reading:
		return l, loaded(ctx, a, at, s)
	case endpoint.Silent:
		why := fmt.Sprintf("%s cannot reach service %s at %s", l.Choice.Runtime.DisplayName, s.Name, url)
		return instead(ctx, a, l, why, advice.Command(fmt.Errorf("%s", why), "aisync doctor"))
	}
	return l, nil
}

// asked is a service as requests find it, with its key. One that cannot be read is
// left out: the server says what it does without.
func asked(a *cli.App, s spec.Service) endpoint.Endpoint {
	url := service.BaseURL(s)
	at := endpoint.Endpoint{URL: url, Client: endpoint.Client(endpoint.Loopback(url))}
	if m, err := a.Target(stack.ScopeAll); err == nil {
		at.Header, _ = m.Access(s)
	}
	return at
}

// loaded waits until a server has loaded its model.
func loaded(ctx context.Context, a *cli.App, at endpoint.Endpoint, s spec.Service) error {
	a.Say("aisync: service %s loads its model; waiting for it, %s at most", s.Name, loadLimit)
	limited, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	_, err := at.LoadedModels(limited)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil || endpoint.Loading(err):
		return advice.Command(fmt.Errorf("service %s still loads its model after %s", s.Name, loadLimit), "aisync services logs "+s.Name)
	}
	return err
}
