package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/providers/service/listen"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// How long a server may take to name its models, and to answer a prompt, for which
// it may have to read a model of 50 GB from a disk.
const (
	endpointLimit = 10 * time.Second
	promptLimit   = 3 * time.Minute
)

// server is one enabled service of the host as a client sees it.
type server struct {
	e        *Env
	service  spec.Service
	endpoint endpoint.Endpoint
	keyless  error                    // why its key or a header cannot be had
	names    func() ([]string, error) // asks for its models, once
}

// serviceChecks returns the checks of every enabled service: its unit and its port
// where aisync runs it, then what it answers.
func (e *Env) serviceChecks() []Check {
	if e.spec.Host == nil {
		return nil
	}
	if e.places.Root != "" {
		return []Check{{Name: "services", Doc: "the services answer", Run: func(context.Context, *Env) Outcome {
			return found(skip("nothing runs below --root: run aisync doctor on the machine itself"))
		}}}
	}
	var out []Check
	for _, s := range e.spec.Host.Services {
		if !s.Enabled {
			continue
		}
		srv := e.server(s)
		add := func(f Family, subject string, limit time.Duration, run func(context.Context) []Finding) {
			c := f.check(s.Name, subject)
			c.Limit = limit
			c.Run = func(ctx context.Context, e *Env) Outcome {
				if e.mayReach(srv) {
					return found(run(ctx)...)
				}
				return found(skip("not checked: %s is not on this machine, and --offline was asked for", srv.endpoint.URL))
			}
			out = append(out, c)
		}
		if s.Kind != "external" {
			add(serviceFamily, s.Kind, 0, srv.checkUnit)
			add(portFamily, fmt.Sprintf("port %d", s.Port), 0, srv.checkPort)
		}
		add(endpointFamily, srv.endpoint.URL, -1, srv.checkModels)
		if !e.options.NoPrompt {
			c := promptFamily.check(s.Name, "it")
			c.Limit, c.Run = -1, func(ctx context.Context, _ *Env) Outcome { return srv.prompt(ctx) }
			out = append(out, c)
		}
	}
	return out
}

// mayReach reports whether s is on this machine, or the network may be used.
func (e *Env) mayReach(s *server) bool { return !e.offline || endpoint.Loopback(s.endpoint.URL) }

// server returns s as a client sees it. It asks nothing yet.
func (e *Env) server(s spec.Service) *server {
	srv := &server{e: e, service: s}
	srv.endpoint = endpoint.Endpoint{URL: service.BaseURL(s), Client: endpoint.Client(e.offline || s.Kind != "external")}
	if len(s.APIs) > 0 && !slices.Contains(s.APIs, "chat") {
		srv.endpoint.API = s.APIs[0]
	}
	srv.endpoint.Header, srv.keyless = e.machine.Access(s)
	srv.names = sync.OnceValues(func() ([]string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(e.options.Timeout, endpointLimit))
		defer cancel()
		return srv.endpoint.LoadedModels(ctx)
	})
	return srv
}

// named returns the name among names under which the server has model m; "" for
// none.
func (srv *server) named(names []string, m string) string {
	if name := service.ModelName(srv.service, m); slices.Contains(names, name) {
		return name
	}
	return endpoint.Named(names, m) // an external server may be an ollama
}

// advice returns what to do where the server does not answer as it should.
func (srv *server) advice() string {
	if srv.service.Kind == "external" {
		return "look at the server; aisync does not run it"
	}
	return "aisync services status " + srv.service.Name + " and aisync services logs " + srv.service.Name + " say more"
}

// adviceKey returns what to do about the key of the service.
func (srv *server) adviceKey() string {
	switch s := srv.service; {
	case s.MakesKey():
		return "aisync apply"
	case s.Key != nil && s.Key.Env != "":
		return "export " + s.Key.Env + " with the server's key"
	case s.Key != nil:
		return "write the server's key into " + s.Key.File
	case s.Kind == "external":
		return `name its key in the spec: key: {env: "NAME"}`
	}
	return srv.advice()
}

// refused reports a server that refuses the key, or asks for one.
func (srv *server) refused(err error) Finding {
	var status endpoint.Status
	errors.As(err, &status)
	fix := srv.adviceKey()
	if srv.service.Kind != "external" {
		fix = "aisync services restart " + srv.service.Name + "; then " + fix
	}
	if srv.endpoint.Header["Authorization"] == "" {
		return fail(fix, "%s asks for a key (%d): %s", srv.endpoint.URL, status.Code, status.Text)
	}
	return fail(fix, "%s refuses the key (%d): %s", srv.endpoint.URL, status.Code, status.Text)
}

// checkPort reports what else listens on the port, and a service that listens on
// more addresses than the spec says.
func (srv *server) checkPort(context.Context) []Finding {
	s := srv.service
	found, err := listen.On(s.Port)
	if err != nil {
		return []Finding{warn("", "%v", err)}
	}
	if len(found) == 0 {
		return []Finding{fail("aisync services start "+s.Name, "nothing listens on port %d", s.Port)}
	}
	var out []Finding
	for _, l := range found {
		switch own, known := srv.owns(l); {
		case !known:
			out = append(out, fail("sudo aisync doctor tells", "port %d is held by %s, and whether that is %s is unknown", s.Port, l, s.Name))
		case !own:
			out = append(out, fail("end it, or give "+s.Name+" another port", "port %d is held by %s, which is not %s", s.Port, l, s.Name))
		case s.Listen != "lan" && !l.Address.Addr().IsLoopback():
			out = append(out, fail("aisync services restart "+s.Name, "%s listens on %s, and the spec lets in only this machine", l, l.Address))
		}
	}
	return out
}

// checkModels reports models that the server does not serve.
func (srv *server) checkModels(ctx context.Context) []Finding {
	if srv.keyless != nil {
		return []Finding{fail(srv.adviceKey(), "its requests cannot be sent: %v", srv.keyless)}
	}
	names, err := srv.names()
	if endpoint.Loading(err) {
		return []Finding{warn("wait, then aisync doctor", "it is loading its model: %v", err)}
	}
	if endpoint.Refused(err) {
		return []Finding{srv.refused(err)}
	}
	if err != nil {
		return []Finding{fail(srv.advice(), "%v", err)}
	}
	var out []Finding
	for _, m := range service.ModelsOf(srv.service) {
		if srv.named(names, m) == "" {
			has := "it serves none"
			if len(names) > 0 {
				has = "it serves " + strings.Join(names, ", ")
			}
			fix := srv.advice()
			if srv.service.Kind == "ollama" {
				fix = "aisync apply shows it to ollama again where it was deleted there; else " + fix
			}
			out = append(out, fail(fix, "%s does not serve %s: %s", srv.endpoint.URL, m, has))
		}
	}
	if len(names) == 0 && len(service.ModelsOf(srv.service)) == 0 {
		out = append(out, fail(srv.advice(), "%s serves no model", srv.endpoint.URL))
	}
	return append(out, srv.checkAPIs(ctx)...)
}

// prompt sends one prompt to a model of the service; with --deep, one to each of
// its models. The outcome has the time until they had answered.
func (srv *server) prompt(ctx context.Context) Outcome {
	unanswered := found(skip("not asked: endpoint-%s says why", srv.service.Name))
	if !srv.e.mayReach(srv) {
		return unanswered
	}
	names, err := srv.names()
	if err != nil || len(names) == 0 || srv.keyless != nil {
		return unanswered
	}
	models := service.ModelsOf(srv.service)
	switch {
	case len(models) == 0:
		models = names[:1]
	case !srv.e.options.Deep:
		models = []string{srv.service.Main()}
	}
	var out Outcome
	for _, m := range models {
		one, cancel := context.WithTimeout(ctx, cmp.Or(srv.e.options.Timeout, promptLimit))
		answer, err := srv.endpoint.Prompt(one, cmp.Or(srv.named(names, m), m))
		cancel()
		switch {
		case endpoint.Refused(err):
			return found(srv.refused(err))
		case err != nil:
			why, fix := srv.whyNotLoaded(ctx)
			out.Findings = append(out.Findings, fail(fix, "%s: %v%s", m, err, why))
		}
		out.Took += answer.Took
	}
	return out
}

// whyNotLoaded returns why a server that runs did not answer, as a clause that what it
// wrote last tells, and what to do. ollama loads a model when it is first asked.
func (srv *server) whyNotLoaded(ctx context.Context) (clause, fix string) {
	v, _, err := srv.e.plan()
	if srv.service.Kind == "external" || err != nil {
		return "", srv.advice()
	}
	c, err := v.Services.Controller(srv.service.Scope == "system")
	if err != nil {
		return "", srv.advice()
	}
	cause, why, _ := service.Why(ctx, c, control.State{Name: srv.service.Name})
	if cause == "" {
		return "", srv.advice()
	}
	return "; it wrote that " + why, advice.ServerEnded(string(cause), srv.service.Name, srv.service.Kind)
}

// checkUnit reports a service that is not active, or was not started from this
// very unit with these very models.
func (srv *server) checkUnit(ctx context.Context) []Finding {
	_, plan, err := srv.e.plan()
	if err != nil {
		return []Finding{skip("not checked: the check of drift says why")}
	}
	addr := service.Address(srv.service)
	if i := slices.IndexFunc(plan.Unsupported, func(u reconcile.Unsupported) bool { return u.Address == addr }); i >= 0 {
		return []Finding{fail("", "%s", plan.Unsupported[i].Reason)}
	}
	i := slices.IndexFunc(plan.Changes, func(c reconcile.Change) bool { return c.Target.Is(addr) })
	if i < 0 {
		return []Finding{fail("aisync plan", "the plan does not hold it")}
	}
	switch c := plan.Changes[i]; c.Action {
	case reconcile.None, reconcile.Accept:
		return srv.startsAtBoot()
	case reconcile.Unclear:
		return []Finding{fail("", "its state is unknown: %s", c.Before.Reason)}
	case reconcile.Create:
		text, fix := srv.whyNotRunning(ctx)
		return []Finding{fail(fix, "%s", text)}
	default:
		fix := "aisync apply"
		if c.Drift() {
			fix = "aisync apply --restore --target " + shellquote.Terminal(string(c.Target.Resource.Address))
		}
		return []Finding{fail(fix, "it runs, but not as the spec asks: %s", c.Meaning())}
	}
}

// startsAtBoot reports a running service that will not start with the machine.
func (srv *server) startsAtBoot() []Finding {
	v, _, err := srv.e.plan()
	if err != nil {
		return nil
	}
	states, err := srv.e.serviceStates()
	switch st := states[srv.service.Name]; {
	case err != nil || st.Enabled:
		return nil // the check of drift examines its link
	case v.Services.By == control.Own:
		return []Finding{warn("aisync apply after each start of the machine", "no service manager runs here, so it does not start with the machine")}
	default:
		return []Finding{fail("aisync apply", "it runs, but is not enabled: it does not start with the machine")}
	}
}

// whyNotRunning returns why a service does not run, with what it wrote last, and what
// to do.
func (srv *server) whyNotRunning(ctx context.Context) (text, fix string) {
	text, fix = "it does not run", "aisync services start "+srv.service.Name+", or aisync apply"
	v, _, err := srv.e.plan()
	if err != nil {
		return text, fix
	}
	c, err := v.Services.Controller(srv.service.Scope == "system")
	if err != nil {
		return text, fix
	}
	states, _ := srv.e.serviceStates()
	st := states[srv.service.Name]
	st.Name = srv.service.Name
	if st.Ended != "" {
		text += "; it ended: " + st.Ended
	}
	cause, why, lines := service.Why(ctx, c, st)
	if why != "" {
		text += "; " + why
	}
	if len(lines) > 0 {
		text += "; the last that it wrote:\n" + strings.Join(lines, "\n")
	}
	switch cause {
	case "":
	case service.Gone:
		fix = "the check of models names the file and what brings it back; then " + fix
	case service.Port:
		fix = "the check of its port names the program; then " + fix
	default:
		fix = advice.ServerEnded(string(cause), srv.service.Name, srv.service.Kind) + "; then " + fix
	}
	return text, fix
}

// owns reports whether a listener is this service; known is false where that
// cannot be told.
func (srv *server) owns(l listen.Listener) (own, known bool) {
	if srv.service.Scope == "system" && l.PID == 0 {
		return false, false // another user's processes do not show what they hold
	}
	states, _ := srv.e.serviceStates()
	return l.InUnit(control.UnitName(srv.service.Name)) || l.Below(states[srv.service.Name].PID), true
}
