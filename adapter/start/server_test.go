package start

import (
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

func TestFillLeavesOutWhatIsNotKnown(t *testing.T) {
	known := Server{Name: "s", URL: "http://h:1/v1", Model: `a"b<c`, Context: 8192}
	unknown := known
	unknown.Context = 0
	for _, c := range []struct {
		server      Server
		value, want string // "" is nothing
	}{
		{known, `"{url} {base} {name} {key}"`, `"http://h:1 http://h:1/v1 s none"`},
		{known, `{"{model}": "{model}"}`, `{"a\"b<c":"a\"b<c"}`},
		{known, `{"limit": {"context": "{context}", "output": "{output}"}}`, `{"limit":{"context":8192,"output":2048}}`},
		{known, `"of {context}"`, `"of 8192"`},
		{known, `[1, true, "{context}"]`, `[1,true,8192]`},
		{unknown, `"{context}"`, ``},
		{unknown, `{"limit": {"context": "{context}"}, "name": "x"}`, `{"name":"x"}`},
		{unknown, `{"limit": {"context": "{context}"}}`, ``},
		{unknown, `["{output}", "x"]`, `["x"]`},
		{unknown, `{}`, `{}`},
	} {
		got, ok, err := c.server.Fill(spec.Reference{JSON: []byte(c.value)}, nil)
		if string(got.Value) != c.want || ok != (c.want != "") || err != nil {
			t.Errorf("%s: %s, %v, %v; want %s", c.value, got.Value, ok, err, c.want)
		}
	}
	if _, _, err := known.Fill(spec.Reference{JSON: []byte("{")}, nil); err == nil {
		t.Error("what is no JSON was filled")
	}
	if got := known.FillQuoted(`m: "{model}"`); got != `m: "a\"b\u003cc"` {
		t.Error(got)
	}
	if large := (&Server{Context: 1 << 20}); large.FillQuoted("{output}") != "4096" {
		t.Errorf("an answer of %s tokens", large.FillQuoted("{output}"))
	}
}

func TestServerOfSaysWhatTheSpecLeavesOut(t *testing.T) {
	h := Host{Spec: &spec.Host{}, Models: []spec.Model{{ID: "m", Context: 4096}}}
	for name, c := range map[string]struct {
		service spec.Service
		want    Server
	}{
		"ours":                {spec.Service{Name: "s", Kind: "llama-server", Model: "m", Port: 7}, Server{Name: "s", URL: "http://127.0.0.1:7/v1", Model: "m", Context: 4096, APIs: AllAPIs}},
		"with a context":      {spec.Service{Name: "s", Kind: "llama-server", Model: "m", Port: 7, Context: 512}, Server{Name: "s", URL: "http://127.0.0.1:7/v1", Model: "m", Context: 512, APIs: AllAPIs}},
		"more than its model": {spec.Service{Name: "s", Kind: "llama-server", Model: "m", Port: 7, Context: 32768}, Server{Name: "s", URL: "http://127.0.0.1:7/v1", Model: "m", Context: 4096, APIs: AllAPIs}},
		"the first model":     {spec.Service{Name: "s", Kind: "ollama", Models: []string{"m", "n"}, Port: 7}, Server{Name: "s", URL: "http://127.0.0.1:7/v1", Model: "m", Context: 4096, APIs: AllAPIs}},
		"external":            {spec.Service{Name: "s", Kind: "external", URL: "https://far/v1/", Model: "m", APIs: []string{"chat"}}, Server{Name: "s", URL: "https://far/v1", Model: "m", Context: 0, APIs: []string{"chat"}}},
	} {
		if got := h.ServerOf(&c.service); got.Name != c.want.Name || got.URL != c.want.URL || got.Model != c.want.Model || got.Context != c.want.Context || !slices.Equal(got.APIs, c.want.APIs) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestServerSaysWhyThereIsNone(t *testing.T) {
	service := spec.Service{Name: "s", Kind: "llama-server", Enabled: true}
	h := func(endpoint string, s spec.Service, absent string) Host {
		return Host{Spec: &spec.Host{Name: "h", Endpoint: spec.Named{Value: endpoint}, Services: []spec.Service{s}}, Absent: func(spec.Service) string { return absent }}
	}
	off, external := service, service
	off.Enabled, external.Kind = false, "external"
	for name, c := range map[string]struct {
		host Host
		want string
	}{
		"no endpoint":        {h("", service, ""), "host h names no endpoint"},
		"none of that name":  {h("x", service, ""), `host h names the unknown service "x" as its endpoint`},
		"off":                {h("s", off, ""), "service s, the endpoint of host h, does not run here: the spec has enabled: false for it; write enabled: true, or name another service"},
		"absent":             {h("s", service, "no program"), "service s, the endpoint of host h, does not run here: no program"},
		"there":              {h("s", service, ""), ""},
		"external and as is": {h("s", external, "no program"), ""},
	} {
		s, err := c.host.Server()
		if c.want == "" && (err != nil || s.Name != "s") || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestServiceOfKeepsAVendorsProgramAtItsMakers(t *testing.T) {
	h := Host{Spec: &spec.Host{Endpoint: spec.Named{Value: "mine"}}}
	for name, c := range map[string]struct {
		use   *spec.EndpointUse
		local bool
		want  string
	}{
		"a vendor's":            {nil, false, ""},
		"a vendor's, pointed":   {&spec.EndpointUse{On: true}, false, "mine"},
		"a vendor's, elsewhere": {&spec.EndpointUse{On: true, Service: "other"}, false, "other"},
		"a generic":             {nil, true, "mine"},
		"a generic, refused":    {&spec.EndpointUse{}, true, ""},
	} {
		if got := h.ServiceOf(c.use, &spec.Runtime{Local: c.local}); got.Value != c.want {
			t.Errorf("%s: %q, want %q", name, got.Value, c.want)
		}
	}
}

// A program that can drive generic runtimes is one whose entry says how, and
// nothing else knows it.
func TestAnEntrySaysHowItsProgramDrivesAGenericRuntime(t *testing.T) {
	own := spec.Runtime{
		ID: "mine", Command: "mine", User: spec.Scope{Endpoint: []spec.Reference{{Path: "~/.mine.json", Pointer: "/a/b", JSON: []byte(`"{base}"`)}, {Pointer: "/a/limit", JSON: []byte(`"{context}"`)}}},
		Driver: &spec.Driver{Order: 9, File: "mine.json", Args: []string{"-c", "{file}"}, Environment: map[string]string{"MINE": "{file}"}, Inline: "MINE_INLINE"},
		Launch: spec.Launch{Endpoint: map[string]string{"MODEL": "{model}"}, Offline: map[string]string{"QUIET": "1"}},
	}
	h := Host{
		Runtimes: append(catalog.Runtimes(), own), Has: func(program string) bool { return program == "mine" },
		Spec: &spec.Host{Endpoint: spec.Named{Value: "s"}, Services: []spec.Service{{Name: "s", Kind: "external", URL: "http://h/x", Model: "m"}}},
	}
	l, err := h.Launch("local-openai", "", "")
	if err != nil {
		t.Fatal(err)
	}
	l.Args = []string{"last"}
	l.Point("/f")
	if got := strings.Join(l.Args, " "); l.Driver.ID != "mine" || !strings.HasSuffix(l.Config, "/mine.json") || got != "-c /f last" {
		t.Errorf("%s, %s, %s", l.Driver.ID, l.Config, got)
	}
	for name, want := range map[string]string{"MINE": "/f", "MINE_INLINE": `{"a":{"b":"http://h/x"}}`, "MODEL": "m", "QUIET": "1"} {
		if l.Environment[name] != want {
			t.Errorf("%s is %s, want %s", name, l.Environment[name], want)
		}
	}
	if ids := DriverIDs(h.Runtimes); ids[len(ids)-1] != "mine" || ids[0] != "opencode" {
		t.Errorf("order of choice %q", ids)
	}
	h.Has = func(string) bool { return false }
	if _, err := h.Launch("local-openai", "", ""); err == nil || !strings.Contains(err.Error(), "install opencode or aider or mine, or name one: cli: \"opencode\"") {
		t.Errorf("with none of them: %v", err)
	}
	h.Spec.Runtimes = []spec.RuntimeUse{{ID: "aider", Install: &spec.Install{Via: "uv"}}}
	if l, err := h.Launch("local-openai", "", ""); err != nil || l.Driver.ID != "aider" {
		t.Errorf("with one that the spec installs: %s, %v", l.Driver.ID, err)
	}
}
