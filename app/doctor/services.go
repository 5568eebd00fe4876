package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/providers/service/listen"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// How long a server may take to name its models, and to answer a few words:
// before that it may have to read a model of 50 GB from a disk.
const (
	endpointLimit = 10 * time.Second
	promptLimit   = 3 * time.Minute
)

// server is one enabled service of the host as a client sees it.
type server struct {
	p        *Env
	service  spec.Service
	endpoint endpoint.Endpoint
	names    func() ([]string, error) // asks for its models, once
}

// ServiceChecks are the checks of every enabled service: its unit and its port
// where aisync runs it, then what it answers.
func ServiceChecks(p *Env, prompts, deep bool) []Check {
	if p.spec == nil || p.spec.Host == nil {
		return nil // the check of the spec says why
	}
	if p.places.Root != "" {
		return []Check{{Name: "services", Doc: "the services answer", Run: func(context.Context, *Env) []Finding {
			return []Finding{skip("nothing runs below --root: run aisync doctor on the machine itself")}
		}}}
	}
	var out []Check
	for _, s := range p.spec.Host.Services {
		if !s.Enabled {
			continue
		}
		v := p.server(s)
		add := func(what, doc string, limit time.Duration, run func(context.Context) []Finding) {
			out = append(out, Check{Name: what + "-" + s.Name, Doc: doc, Limit: limit, Run: func(ctx context.Context, _ *Env) []Finding {
				if endpoint.Loopback(v.endpoint.URL) || !p.offline {
					return run(ctx)
				}
				return []Finding{skip("not checked: %s is not on this machine, and --offline was asked for", v.endpoint.URL)}
			}})
		}
		if s.Kind != "external" {
			add("service", s.Kind+" is enabled and runs what the spec asks for", 0, v.running)
			add("port", fmt.Sprintf("port %d is its own, and open to nobody else than the spec says", s.Port), 0, v.port)
		}
		add("endpoint", v.endpoint.URL+" names its models", -1, v.models)
		if prompts {
			out = append(out, v.promptCheck(deep))
		}
	}
	return out
}

func (p *Env) server(s spec.Service) *server {
	v := &server{p: p, service: s}
	v.endpoint = endpoint.Endpoint{URL: service.BaseURL(s), Client: endpoint.Client(p.offline || s.Kind != "external")}
	if len(s.APIs) > 0 && !slices.Contains(s.APIs, "chat") {
		v.endpoint.API = s.APIs[0]
	}
	v.names = sync.OnceValues(func() ([]string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(p.Timeout, endpointLimit))
		defer cancel()
		return v.endpoint.Models(ctx)
	})
	return v
}

// named is the name among names under which the server has model m; "" for none.
func (v *server) named(names []string, m string) string {
	if name := service.ModelName(v.service, m); slices.Contains(names, name) {
		return name
	}
	return endpoint.Named(names, m) // an external server may be an ollama
}

// restart is what to do where it does not answer as it should.
func (v *server) restart() string {
	if v.service.Kind == "external" {
		return "look at the server; it is not one of aisync's"
	}
	return "aisync services status " + v.service.Name + " and aisync services logs " + v.service.Name + " say more"
}

// port compares who listens with who should.
func (v *server) port(context.Context) []Finding {
	s := v.service
	found, err := listen.On(s.Port)
	if err != nil {
		return []Finding{warn("", "%v", err)}
	}
	if len(found) == 0 {
		return []Finding{fail("aisync services start "+s.Name, "nothing listens on port %d", s.Port)}
	}
	var out []Finding
	for _, l := range found {
		switch own, known := v.owns(l); {
		case !known:
			out = append(out, fail("sudo aisync doctor tells", "port %d is held by %s, and whether that is %s cannot be told", s.Port, l, s.Name))
		case !own:
			out = append(out, fail("end it, or give "+s.Name+" another port", "port %d is held by %s, which is not %s", s.Port, l, s.Name))
		case s.Listen != "lan" && !l.Address.Addr().IsLoopback():
			out = append(out, fail("aisync services restart "+s.Name, "%s listens on %s, and the spec lets nobody but this machine in", l, l.Address))
		}
	}
	return out
}

// models asks which models there are.
func (v *server) models(ctx context.Context) []Finding {
	names, err := v.names()
	if err != nil {
		return []Finding{fail(v.restart(), "%v", err)}
	}
	var out []Finding
	for _, m := range service.ModelsOf(v.service) {
		if v.named(names, m) == "" {
			has := "it serves none"
			if len(names) > 0 {
				has = "it serves " + strings.Join(names, ", ")
			}
			out = append(out, fail(v.restart(), "%s does not serve %s: %s", v.endpoint.URL, m, has))
		}
	}
	if len(names) == 0 && len(service.ModelsOf(v.service)) == 0 {
		out = append(out, fail(v.restart(), "%s serves no model", v.endpoint.URL))
	}
	return append(out, v.apis(ctx)...)
}

// apis asks an external service that does not say its APIs for those that the
// runtimes which talk to it need.
func (v *server) apis(ctx context.Context) (out []Finding) {
	if v.service.Kind != "external" || len(v.service.APIs) > 0 {
		return nil
	}
	known := catalog.With(v.p.spec.Catalog)
	host := start.Host{Spec: v.p.spec.Host, Runtimes: known.Runtimes(), Models: known.Models()}
	for _, l := range host.Launches() {
		if l.Service.Name != v.service.Name || len(l.Driver.APIs) == 0 {
			continue
		}
		has := false
		for _, api := range l.Driver.APIs {
			one, cancel := context.WithTimeout(ctx, cmp.Or(v.p.Timeout, endpointLimit))
			ok, err := v.endpoint.Has(one, api)
			cancel()
			if err != nil {
				return append(out, fail(v.restart(), "%v", err))
			}
			has = has || ok
		}
		if !has {
			out = append(out, fail("write endpoint: false for "+l.ID+", or name another service", "%s has none of the APIs that %s speaks: %s", v.endpoint.URL, l.ID, strings.Join(l.Driver.APIs, ", ")))
		}
	}
	return out
}

// promptCheck asks a model for a few words; with deep, each model of the
// service. The result is the time that the answers took.
func (v *server) promptCheck(deep bool) Check {
	asked := max(1, len(service.ModelsOf(v.service)))
	if !deep {
		asked = 1
	}
	return Check{Name: "prompt-" + v.service.Name, Doc: "a prompt to it brings tokens", Limit: -1, Prompt: func(ctx context.Context) ([]Finding, time.Duration) {
		names, err := v.names()
		if !endpoint.Loopback(v.endpoint.URL) && v.p.offline {
			return []Finding{skip("not asked: endpoint-%s says why", v.service.Name)}, 0
		}
		if err != nil || len(names) == 0 {
			return []Finding{skip("not asked: endpoint-%s says why", v.service.Name)}, 0
		}
		var out []Finding
		var took time.Duration
		models := service.ModelsOf(v.service)
		if len(models) == 0 {
			models = names
		}
		for _, m := range models[:min(asked, len(models))] {
			one, cancel := context.WithTimeout(ctx, cmp.Or(v.p.Timeout, promptLimit))
			answer, err := v.endpoint.Prompt(one, cmp.Or(v.named(names, m), m))
			cancel()
			if err != nil {
				out = append(out, fail(v.restart(), "%s: %v", m, err))
			}
			took += answer.Took
		}
		return out, took
	}}
}

// running says whether the service is what the spec asks for, as the plan sees
// it: active, and started from this very unit with these very models.
func (v *server) running(ctx context.Context) []Finding {
	_, plan, err := v.p.planned()
	if err != nil {
		return []Finding{skip("not checked: the check of drift says why")}
	}
	addr := service.Address(v.service)
	if i := slices.IndexFunc(plan.Unsupported, func(u reconcile.Unsupported) bool { return u.Address == addr }); i >= 0 {
		return []Finding{fail("", "%s", plan.Unsupported[i].Reason)}
	}
	i := slices.IndexFunc(plan.Changes, func(c reconcile.Change) bool { return c.Target.Is(addr) })
	if i < 0 {
		return []Finding{fail("aisync plan", "the plan does not know it")}
	}
	switch c := plan.Changes[i]; c.Action {
	case reconcile.None, reconcile.Accept:
		return v.comesBack()
	case reconcile.Unclear:
		return []Finding{fail("", "it cannot be told how it is: %s", c.Before.Reason)}
	case reconcile.Create:
		return []Finding{fail("aisync services start "+v.service.Name+", or aisync apply", "%s", v.lastWords(ctx))}
	default:
		fix := "aisync apply"
		if c.Drift() {
			fix = "aisync apply --restore --target " + shellquote.Terminal(string(c.Target.Resource.Address))
		}
		return []Finding{fail(fix, "it runs, and not as the spec asks: %s", c.Meaning())}
	}
}

// comesBack says whether the service that runs is started again with the machine.
func (v *server) comesBack() []Finding {
	w, _, err := v.p.planned()
	if err != nil {
		return nil
	}
	states, err := v.p.states()
	switch st := states[v.service.Name]; {
	case err != nil || st.Enabled:
		return nil // its link is a matter of drift
	case w.Services.By == control.Own:
		return []Finding{warn("aisync apply after each start of the machine", "no service manager runs here, so it does not come back when the machine does")}
	default:
		return []Finding{fail("aisync apply", "it runs, and is not enabled: it does not come back when the machine does")}
	}
}

// lastWords says that a service does not run, how it ended, and what it wrote.
func (v *server) lastWords(ctx context.Context) string {
	text := "it does not run"
	w, _, err := v.p.planned()
	if err != nil || w.Services.Controller == nil {
		return text
	}
	states, _ := v.p.states()
	if st := states[v.service.Name]; st.Ended != "" {
		text += "; it ended: " + st.Ended
	}
	lines := service.LastLines(ctx, w.Services.Controller(w.Services.By, v.service.Scope == "system"), v.service.Name, 5)
	if len(lines) > 0 {
		text += "; the last that it wrote:\n" + strings.Join(lines, "\n")
	}
	return text
}

// owns reports whether a listener is this service; known is false where that
// cannot be told.
func (v *server) owns(l listen.Listener) (own, known bool) {
	if v.service.Scope == "system" && l.PID == 0 {
		return false, false // another user's processes do not show what they hold
	}
	states, _ := v.p.states()
	return l.InUnit(control.UnitName(v.service.Name)) || l.Below(states[v.service.Name].PID), true
}

// statesOnce returns a function that asks once how the services are.
func (p *Env) statesOnce(ctx context.Context) func() (map[string]control.State, error) {
	return sync.OnceValues(func() (map[string]control.State, error) {
		w, _, err := p.planned()
		if err != nil || w.Spec.Host == nil {
			return nil, err
		}
		return w.ServiceStates(ctx, w.Spec.Host.Services)
	})
}
