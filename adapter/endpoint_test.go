package adapter

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

func TestLocalRuntimesAreToldOfTheEndpoint(t *testing.T) {
	const dir = "file:~/.config/rulesets/runtimes/local-openai/"
	service := func(s spec.Service) spec.Service { s.Name, s.Enabled = "coder", true; return s }
	tests := map[string]struct {
		cli     string
		service spec.Service
		want    map[string]string
		says    string
	}{
		"opencode": {"opencode", service(spec.Service{Kind: "llama-server", Model: "m", Port: 8081}), map[string]string{
			dir + "opencode.json /$schema":        `"https://opencode.ai/config.json"`,
			dir + "opencode.json /autoupdate":     `false`,
			dir + "opencode.json /share":          `"disabled"`,
			dir + "opencode.json /model":          `"local/m"`,
			dir + "opencode.json /provider/local": `{"models":{"m":{"limit":{"context":8192,"output":2048}}},"options":{"apiKey":"none","baseURL":"http://127.0.0.1:8081/v1"}}`,
		}, ""},
		"aider":   {"aider", service(spec.Service{Kind: "external", URL: "http://10.0.0.2:1/v1/", Model: "x"}), map[string]string{dir + ".aider.conf.yml": ""}, ""},
		"another": {"nano", service(spec.Service{Kind: "llama-server", Model: "m", Port: 1}), map[string]string{}, `local-openai is not driven by nano; use cli: "opencode" or "aider"`},
		"none":    {"", service(spec.Service{Kind: "llama-server", Model: "m", Port: 1}), map[string]string{}, "set http://127.0.0.1:1/v1 in a program's configuration by hand"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := host(t, spec.RuntimeUse{ID: "local-openai", CLI: test.cli})
			h.Runtimes = append(h.Runtimes, known("aider"))
			h.Models = []spec.Model{{ID: "m", Context: 8192}}
			h.Spec.Services, h.Spec.Endpoint.Value = []spec.Service{test.service}, "coder"
			d, err := h.Declare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got := values(d)
			for k := range test.want {
				if strings.HasSuffix(k, ".yml") {
					test.want[k] = got[k]
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(show(d), test.says) {
				t.Errorf("does not say %q:\n%s", test.says, show(d))
			}
		})
	}
}

// pointed is a host with a service "s" as its endpoint, and runtimes that the
// spec points at it in so many words.
func pointed(t *testing.T, s spec.Service, runtimes ...string) Host {
	h := host(t)
	for i, id := range runtimes {
		h.Spec.Runtimes = append(h.Spec.Runtimes, spec.RuntimeUse{ID: id, Pos: line("h.cue", i+1), Endpoint: &spec.EndpointUse{On: true, Pos: line("h.cue", i+1)}})
	}
	s.Name, s.Pos, s.Scope = "s", line("h.cue", 20), "user"
	h.Spec.Services, h.Spec.Endpoint = []spec.Service{s}, spec.Named{Value: "s", Pos: line("h.cue", 30)}
	return h
}

func TestEndpointIsWritten(t *testing.T) {
	far := spec.Service{Kind: "external", URL: "http://127.0.0.1:1/v1/", Model: "m", APIs: []string{"chat", "responses"}}
	d, err := pointed(t, far, "claude", "codex", "copilot").Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // no context is known, so none is written
		"file:~/.codex/config.toml /model":                 `"m"`,
		"file:~/.codex/config.toml /model_providers/local": `{"base_url":"http://127.0.0.1:1/v1","name":"local (s)"}`,
	}
	if diff := cmp.Diff(want, values(d)); diff != "" {
		t.Error(diff)
	}
	for _, says := range []string{
		"note: codex will talk to s (http://127.0.0.1:1/v1)  <- h.cue:2:1",
		"note: no file points copilot at s: start it with COPILOT_MODEL=m COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:1/v1 in its environment",
		"unsupported endpoint:claude: claude cannot talk to s: it accepts only its vendor's server",
	} {
		if !strings.Contains(show(d), says) {
			t.Errorf("does not say %q:\n%s", says, show(d))
		}
	}
}

func TestSmallContextIsAWarning(t *testing.T) {
	for tokens, warns := range map[int]bool{4096: true, 20000: false, 0: false} {
		h := pointed(t, spec.Service{Kind: "external", URL: "http://127.0.0.1:1/v1", Model: "m", APIs: []string{"responses"}, Context: tokens}, "codex")
		for i := range h.Runtimes {
			h.Runtimes[i].FirstRequest = 10000
		}
		d, err := h.Declare(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(show(d), "warning: codex starts with about 10000 tokens, and s has a context of 4096"); said != warns {
			t.Errorf("%d: %s", tokens, show(d))
		}
	}
}

func TestAServiceThatLacksWhatAProgramNeedsIsAnErrorOfBothPlaces(t *testing.T) {
	far := spec.Service{Kind: "external", URL: "http://127.0.0.1:1/v1", Model: "m", APIs: []string{"chat"}}
	_, err := pointed(t, far, "codex", "opencode").Declare(context.Background())
	want := "h.cue:20:1: service s has the apis chat, but codex needs responses (h.cue:1:1); add it to apis if the service has it, or write endpoint: false for codex"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	far.Kind, far.APIs = "llama-server", nil
	if _, err := pointed(t, far, "codex", "opencode").Declare(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestTheConfigurationOfAiderIsYAMLWhateverTheNames(t *testing.T) {
	rt, h := start.Find(adapters(), "local-openai"), host(t)
	p := pointing{host: &h, rt: rt, server: start.Server{URL: "http://127.0.0.1:1/v1", Model: `a"b`}}
	b := newBuilder(reconcile.HostOwner)
	b.index[rt.User.RulesBlock] = []indexEntry{{}}
	got := string(p.driverText(b, known("aider").Driver))
	for _, want := range []string{`model: "openai/a\"b"`, `  - "/home/me/.config/rulesets/runtimes/local-openai/AGENTS.md"`, `openai-api-base: "http://127.0.0.1:1/v1"`} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s in\n%s", want, got)
		}
	}
}

func TestAnUnknownEndpointNamesTheServicesThereAre(t *testing.T) {
	h := host(t)
	h.Spec.Services, h.Spec.Endpoint = []spec.Service{{Name: "coder"}}, spec.Named{Value: "codr", Pos: line("h.cue", 3)}
	if _, err := h.Declare(context.Background()); err == nil || !strings.Contains(err.Error(), `h.cue:3:1: endpoint names the unknown service "codr": coder`) {
		t.Errorf("error: %v", err)
	}
}
