package runtime

import (
	"maps"
	"slices"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

func TestARuntimeIsLaunchedSoThatItTalksToItsService(t *testing.T) {
	h := Host{Runtimes: catalog.Runtimes(), Home: "/home/me", Spec: &spec.Host{
		Runtimes: []spec.RuntimeUse{
			{ID: "local-openai", CLI: "opencode"},
			{ID: "copilot", Endpoint: &spec.EndpointUse{On: true, Service: "quick"}},
			{ID: "pi", Endpoint: &spec.EndpointUse{On: true}},
			{ID: "claude"}, {ID: "gemini", Endpoint: &spec.EndpointUse{On: true}},
		},
		Services: []spec.Service{{Name: "coder", Kind: "llama-server", Model: "big", Port: 8081}, {Name: "quick", Kind: "external", URL: "http://127.0.0.1:9/v1/", Model: "small"}},
		Endpoint: spec.Named{Value: "coder"},
	}}
	got := map[string]LocalLaunch{}
	for _, l := range h.LocalLaunches() {
		got[l.ID] = l
	}
	if ids := slices.Sorted(maps.Keys(got)); !slices.Equal(ids, []string{"copilot", "local-openai", "pi"}) {
		t.Fatalf("launches of %q", ids)
	}
	if l := got["local-openai"]; l.Program.ID != "opencode" || l.Service.Name != "coder" ||
		l.Env["OPENCODE_CONFIG"] != "/home/me/.config/rulesets/runtimes/local-openai/opencode.json" || l.Env["OPENCODE_DISABLE_AUTOUPDATE"] != "1" {
		t.Errorf("local-openai: %+v", l)
	}
	if l := got["copilot"]; l.Env["COPILOT_PROVIDER_BASE_URL"] != "http://127.0.0.1:9/v1" || l.Env["COPILOT_MODEL"] != "small" {
		t.Errorf("copilot: %v", l.Env)
	}
	if l := got["pi"]; l.Program.ID != "pi" || l.Env["PI_OFFLINE"] != "1" {
		t.Errorf("pi: %+v", l)
	}

	h.Spec.Runtimes = []spec.RuntimeUse{{ID: "local-openai", CLI: "aider"}}
	if l := h.LocalLaunches(); len(l) != 1 || !slices.Contains(l[0].Args, "/home/me/.config/rulesets/runtimes/local-openai/.aider.conf.yml") {
		t.Errorf("driven by aider: %+v", l)
	}
	h.Spec.Runtimes = []spec.RuntimeUse{{ID: "local-openai"}}
	if l := h.LocalLaunches(); len(l) != 0 {
		t.Errorf("driven by nothing: %+v", l)
	}
}
