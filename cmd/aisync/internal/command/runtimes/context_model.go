package runtimes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"aisync.dev/aisync/app/contextreport"
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/schema/spec"
)

// measureLimit is how long a server may take to load a model and to take a
// prompt in.
const measureLimit = 3 * time.Minute

// prefillOf measures how fast the model id takes a prompt in, by a prompt to a
// service of the host that serves it. Where none can be asked, the result says
// why and what to do. The error is that no model is called so.
func prefillOf(ctx context.Context, a *cli.App, v *stack.View, id string) (*contextreport.Model, error) {
	m := &contextreport.Model{ID: id}
	var services []spec.Service
	known := []string{}
	for _, model := range v.Catalog.Models() {
		known = append(known, model.ID)
	}
	if h := v.Spec.Host; h != nil {
		for _, s := range h.Services {
			known = append(known, service.ModelsOf(s)...)
			if slices.Contains(service.ModelsOf(s), id) {
				services = append(services, s)
			}
		}
	}
	if !slices.Contains(known, id) {
		return nil, nearest.Unknown("model", id, known)
	}
	i := slices.IndexFunc(services, func(s spec.Service) bool { return s.Enabled })
	switch {
	case v.Places.Root != "":
		m.Unknown, m.Fix = "nothing runs below --root", "run aisync context --model "+id+" on the machine itself"
	case len(services) == 0:
		m.Unknown, m.Fix = "no service of this host serves it", "aisync add service coder --kind llama-server --model "+id+", then aisync apply"
	case i < 0:
		m.Unknown, m.Fix = "its service "+services[0].Name+" is not enabled", "set enabled: true in "+services[0].Pos.String()+", then aisync apply"
	default:
		measure(ctx, a, v, m, services[i])
	}
	return m, nil
}

// measure asks s, and fills m.
func measure(ctx context.Context, a *cli.App, v *stack.View, m *contextreport.Model, s spec.Service) {
	e := endpoint.Endpoint{URL: service.BaseURL(s), Client: endpoint.Client(a.Flags.Offline || s.Kind != "external")}
	if len(s.APIs) > 0 && !slices.Contains(s.APIs, "chat") {
		e.API = s.APIs[0]
	}
	if a.Flags.Offline && !endpoint.Loopback(e.URL) {
		m.Unknown, m.Fix = e.URL+" is not on this machine, and --offline was asked for", "run it without --offline"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	var names []string
	var err error
	if e.Header, err = v.Access(s); err == nil {
		names, err = e.Models(ctx)
	}
	var p endpoint.Prefill
	if err == nil {
		name := service.ModelName(s, m.ID)
		if !slices.Contains(names, name) {
			name = cmp.Or(endpoint.Named(names, m.ID), m.ID)
		}
		a.Say("aisync: measuring how fast %s takes a prompt in, at %s", m.ID, e.URL)
		p, err = e.Measure(ctx, name)
	}
	if err != nil {
		m.Unknown, m.Fix = err.Error(), "aisync services start "+s.Name+", then run it again"
		if s.Kind == "external" {
			m.Fix = "look at the server; aisync does not run it"
		}
		return
	}
	m.TokensPerSecond, m.PromptTokens, m.By = p.TokensPerSecond, p.Tokens, e.URL
}

// modelText says how fast m is, or why that is not known.
func modelText(m *contextreport.Model) string {
	if m.Unknown != "" {
		return fmt.Sprintf("The speed of %s is not known: %s; %s", m.ID, m.Unknown, m.Fix)
	}
	return fmt.Sprintf("%s takes in about %.0f tokens a second, as measured now with a prompt of %d tokens at %s", m.ID, m.TokensPerSecond, m.PromptTokens, m.By)
}
