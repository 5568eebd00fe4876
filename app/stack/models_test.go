package stack_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/stacktest"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

func TestInventoryJoinsSpecAndRecords(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: stacktest.ModelHost(t, "")})
	inv, err := s.Open().Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.Files) != 1 || len(inv.Wanted()) != 1 || !inv.Has("tiny") {
		t.Errorf("before an apply: %+v", inv.Files)
	}
	if _, ok := inv.Pins.Chosen("tiny"); !ok {
		t.Error("the resolver did not choose tiny")
	}
	s.Apply("model:tiny")
	if got := s.Read(stacktest.TinyFile); len(got) != 483136 {
		t.Errorf("the model has %d bytes", len(got))
	}
	s.Write(stacktest.HostSpec, "package aisync\n\nhosts: me: match: {}\n")
	if inv, err = s.Open().Inventory(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(inv.Files) != 1 || len(inv.Wanted()) != 0 {
		t.Errorf("a model that only the records have: %+v", inv.Files)
	}
	if files, err := inv.Of([]string{"tiny"}); err != nil || len(files) != 1 {
		t.Errorf("%+v, %v", files, err)
	}
	if files, err := inv.Of(nil); err != nil || len(files) != 1 {
		t.Errorf("all: %+v, %v", files, err)
	}
	_, err = inv.Of([]string{"tinny"})
	if err == nil || !strings.Contains(err.Error(), `unknown model "tinny"`) || !strings.Contains(err.Error(), "there are tiny") {
		t.Errorf("unknown model: %v", err)
	}
}

func TestInventoryNeedsAHost(t *testing.T) {
	s := stacktest.New(t, nil)
	v, err := stack.LookAtRecords(t.Context(), s.Machine(), stack.ScopeAll)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Inventory(t.Context()); !errors.Is(err, stack.ErrNoHost) || !strings.Contains(advice.Of(err), "aisync init") {
		t.Errorf("%v", err)
	}
}

func TestModelRequestFollowsDependents(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: stacktest.ModelHost(t, `views: ["ollama"]`)})
	s.Env["OLLAMA_MODELS"] = s.Path("home/.ollama/models")
	v := s.Open()
	ask := v.ModelRequest([]string{"tiny"})
	if ask.Scope != stack.ScopeHost || !slices.Contains(ask.Targets, "model:tiny") {
		t.Errorf("%+v", ask)
	}
	if len(ask.Targets) < 2 {
		t.Errorf("no name of the model in another program's folder: %q", ask.Targets)
	}
	for _, target := range ask.Targets {
		if strings.HasPrefix(target, "service:") {
			t.Errorf("a service is asked for: %s", target)
		}
	}
}

func TestTransferSourceComesFirst(t *testing.T) {
	for name, c := range map[string]struct {
		source, want string
	}{
		"a file":   {"http://127.0.0.1:1/other.gguf", "http://127.0.0.1:1/other.gguf"},
		"a folder": {"http://127.0.0.1:1/models/", "http://127.0.0.1:1/models/tiny.gguf"},
		"a peer":   {"peer://127.0.0.1:1", "peer://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stacktest.New(t, map[string]string{stacktest.HostSpec: stacktest.ModelHost(t, "")})
			v, err := stack.Look(t.Context(), s.Machine(), stack.ScopeHost)
			if err != nil {
				t.Fatal(err)
			}
			v.Transfer.Source, v.PullModels = c.source, []string{"tiny"}
			if err := v.Declare(t.Context(), v.Resolver(pin.Look)); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%+v", v.Declared.Declarations); !strings.Contains(got, c.want+" ") && !strings.Contains(got, c.want+"]") {
				t.Errorf("no %s in %s", c.want, got)
			}
		})
	}
}

func TestAdvisePinNamesTheNextCommand(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a source that is not here": {fmt.Errorf("x: %w", pin.ErrNotFetched), "aisync lock"},
		"not pinned":                {&pin.Error{Reason: pin.NotPinned, Err: errors.New("x")}, "aisync lock"},
		"damaged":                   {&pin.Error{Reason: pin.Unfit, ID: "tiny", Err: errors.New("x")}, "aisync lock --update tiny"},
		"gone":                      {&pin.Error{Reason: pin.Gone, ID: "ti ny", Err: errors.New("x")}, "aisync lock --update 'ti ny', and look at what moved"},
		"changed":                   {&pin.Error{Reason: pin.Changed, ID: "tiny", Err: errors.New("x")}, "aisync lock --update tiny, if the change is right"},
		"hub down":                  {&pin.Error{Reason: pin.HubDown, Err: errors.New("x")}, "aisync lock again, when the hub can be reached"},
		"manager failed":            {&pin.Error{Reason: pin.ManagerFailed, Err: errors.New("x")}, "aisync lock again, when that is mended"},
		"another error":             {errors.New("x"), ""},
		"none":                      {nil, ""},
	} {
		got := pin.Advise(c.err)
		if !errors.Is(got, c.err) || !strings.Contains(advice.Of(got), c.want) || (advice.Of(got) == "") != (c.want == "") {
			t.Errorf("%s: %v, advice %q", name, got, advice.Of(got))
		}
	}
	if got := pin.Advise(&pin.Error{Reason: pin.NotWritable, Err: errors.New("x")}); !strings.Contains(got.Error(), "run aisync lock in a copy") {
		t.Error(got)
	}
}

func TestUnpinnedModelIsLeftOutOffline(t *testing.T) {
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: `package aisync

hosts: me: {match: {}, models: far: {}}
catalog: models: far: {license: "MIT", context: 2048, quants: Q8_0: repo: "me/far"}
`})
	s.Set = func(m *stack.Machine) { m.Offline = true }
	h := s.Hold()
	defer h.Release()
	if len(h.LeftOut) != 1 || !strings.Contains(h.LeftOut[0].Error(), "model:far: left out: ") || !strings.Contains(h.LeftOut[0].Error(), "pin it with aisync lock") {
		t.Fatalf("left out: %v", h.LeftOut)
	}
	p, err := h.Plan(t.Context(), stack.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Changes {
		if c.Target.Resource.Address == "model:far" && c.Action != reconcile.Unclear {
			t.Errorf("its action is %q", c.Action)
		}
	}
}

func TestRetriesAreNotifiedWithoutAddresses(t *testing.T) {
	s := stacktest.New(t, nil)
	n := s.Open().Network()
	n.Retry("tiny", fmt.Errorf("dial 10.0.0.1: %w", syscall.ECONNREFUSED), 0, 2, 5)
	n.Retry("tiny", errors.New("odd"), 0, 3, 5)
	if got := s.Told(); got != "tiny: connection refused; trying again in 1s (2 of 5)\ntiny: odd; trying again in 1s (3 of 5)" {
		t.Errorf("%s", got)
	}
}

// service is a host with a server of the model tiny on a free port.
func service(t *testing.T, more string) *stacktest.Stage {
	t.Helper()
	return stacktest.New(t, map[string]string{
		stacktest.HostSpec: stacktest.ModelHost(t, `services: {coder: {kind: "llama-server", model: "tiny", port: 18099}, far: {kind: "external", url: "http://127.0.0.1:1"}}`+more),
		"bin/llama-server": "#!/bin/sh\n",
	})
}

func TestServiceManagerFollowsEnvironmentAndMachine(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(*stacktest.Stage)
		by     control.Kind
		waits  string
		failed string
	}{
		"named":              {func(s *stacktest.Stage) {}, control.Own, "", ""},
		"unknown":            {func(s *stacktest.Stage) { s.Env["AISYNC_SERVICE_MANAGER"] = "init" }, "", "", "AISYNC_SERVICE_MANAGER=init: want systemd, launchd or supervise"},
		"a system not up":    {func(s *stacktest.Stage) { s.Env["SYSTEMD_OFFLINE"], s.Env["AISYNC_SERVICE_MANAGER"] = "1", "" }, control.Systemd, "this system is not booted", ""},
		"recorded facts":     {func(s *stacktest.Stage) { s.Set = func(m *stack.Machine) { m.FactsFile = "facts.json" } }, control.Systemd, "the facts are recorded ones", ""},
		"below another root": {func(s *stacktest.Stage) { s.Set = func(m *stack.Machine) { m.Places.Root = s.Dir } }, control.Systemd, "booted", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := stacktest.New(t, nil)
			c.set(s)
			v, err := stack.LookAtRecords(t.Context(), s.Machine(), stack.ScopeHost)
			if c.failed != "" {
				if err == nil || err.Error() != c.failed {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = v.Services.Controller(false)
			if v.Services.By != c.by || (err != nil) != (c.waits != "") || !strings.Contains(v.Services.Waits, c.waits) {
				t.Errorf("by %s, waits %q, %v", v.Services.By, v.Services.Waits, err)
			}
			if _, err := v.ServiceStates(t.Context(), []spec.Service{{Name: "a", Kind: "llama-server", Scope: "user"}}); (err != nil) != (c.waits != "") {
				t.Errorf("states: %v", err)
			}
		})
	}
}

func TestServiceRunsItsModel(t *testing.T) {
	s := service(t, "")
	s.Facts.Programs["llama-server"] = s.Path("bin/llama-server")
	v := s.Open()
	if !declares(v, "service:user/coder") {
		t.Fatalf("no service is declared: %+v", v.Declared.Unsupported)
	}
	states, err := v.ServiceStates(t.Context(), v.Spec.Host.Services)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := states["far"]; ok || states["coder"].PID != 0 {
		t.Errorf("%+v", states)
	}
	p, err := v.Plan(t.Context(), stack.Request{Targets: []string{"service:*"}})
	if err != nil {
		t.Fatal(err)
	}
	lines := ""
	for _, c := range p.Changes {
		lines += fmt.Sprint(v.Explain(t.Context())(c))
	}
	if !strings.Contains(lines, stacktest.TinyFile[len("home/"):]) {
		t.Errorf("the unit does not name the model: %s", lines)
	}
}

func TestServiceWithoutItsProgramIsUnsupported(t *testing.T) {
	v := service(t, "").Open()
	found := false
	for _, u := range v.Declared.Unsupported {
		found = found || u.Address == "service:user/coder" && strings.Contains(u.Reason, "llama-server")
	}
	if !found {
		t.Errorf("%+v", v.Declared.Unsupported)
	}
}

func TestGateDecidesAboutServices(t *testing.T) {
	refused := errors.New("refused")
	var seen []string
	s := stacktest.New(t, nil)
	s.Set = func(m *stack.Machine) {
		m.Places.Hook = func(op fsys.Op) error {
			seen = append(seen, op.Name+" "+op.Path)
			return refused
		}
	}
	v, err := stack.LookAtRecords(t.Context(), s.Machine(), stack.ScopeHost)
	if err != nil {
		t.Fatal(err)
	}
	c, err := v.Services.Controller(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{c.Start(t.Context(), "a"), c.Restart(t.Context(), "a"), c.Stop(t.Context(), "a")} {
		if !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
	}
	if want := []string{"start a", "restart a", "stop a"}; !slices.Equal(seen, want) {
		t.Errorf("the gate saw %q", seen)
	}
}
