package start

import (
	"maps"
	"slices"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

func TestARuntimeIsLaunchedSoThatItTalksToItsService(t *testing.T) {
	h := Host{Runtimes: catalog.Runtimes(), Spec: &spec.Host{
		Runtimes: []spec.RuntimeUse{
			{ID: "local-openai", CLI: "opencode"},
			{ID: "copilot", Endpoint: &spec.EndpointUse{On: true, Service: "quick"}},
			{ID: "pi", Endpoint: &spec.EndpointUse{On: true}},
			{ID: "claude"}, {ID: "gemini", Endpoint: &spec.EndpointUse{On: true}},
		},
		Services: []spec.Service{{Name: "coder", Kind: "llama-server", Model: "big", Port: 8081, Enabled: true}, {Name: "quick", Kind: "external", URL: "http://127.0.0.1:9/v1/", Model: "small"}},
		Endpoint: spec.Named{Value: "coder"},
	}}
	got := map[string]Launch{}
	for _, l := range h.Launches() {
		l.Point("/its/file")
		got[l.ID] = l
	}
	if ids := slices.Sorted(maps.Keys(got)); !slices.Equal(ids, []string{"copilot", "local-openai", "pi"}) {
		t.Fatalf("launches of %q", ids)
	}
	if l := got["local-openai"]; l.Driver.ID != "opencode" || l.Service.Name != "coder" || l.Config != "~/.config/rulesets/runtimes/local-openai/opencode.json" ||
		l.Environment["OPENCODE_CONFIG"] != "/its/file" || l.Environment["OPENCODE_DISABLE_AUTOUPDATE"] != "1" {
		t.Errorf("local-openai: %+v", l)
	}
	if l := got["copilot"]; l.Environment["COPILOT_PROVIDER_BASE_URL"] != "http://127.0.0.1:9/v1" || l.Environment["COPILOT_MODEL"] != "small" {
		t.Errorf("copilot: %v", l.Environment)
	}
	if l := got["pi"]; l.Driver.ID != "pi" || l.Service.Name != "coder" {
		t.Errorf("pi: %+v", l)
	}

	h.Spec.Runtimes = []spec.RuntimeUse{{ID: "local-openai", CLI: "aider"}}
	if l := h.Launches(); len(l) != 1 || l[0].Config != "~/.config/rulesets/runtimes/local-openai/.aider.conf.yml" {
		t.Errorf("driven by aider: %+v", l)
	}
	h.Spec.Runtimes, h.Has = []spec.RuntimeUse{{ID: "local-openai"}}, func(string) bool { return false }
	if l := h.Launches(); len(l) != 0 {
		t.Errorf("driven by nothing: %+v", l)
	}
}
