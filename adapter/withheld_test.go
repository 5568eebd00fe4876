package adapter

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// What the spec says of a runtime, and the states that its service can be in.
var (
	saids = map[string]*spec.EndpointUse{
		"nothing": nil, "false": {}, "true": {On: true}, "the endpoint's name": {On: true, Service: "s"}, "another's name": {On: true, Service: "lan"},
	}
	states = map[string]struct {
		service spec.Service
		lacks   string // what the machine lacks for it
		serves  bool
	}{
		"started":               {spec.Service{Kind: "llama-server", Enabled: true}, "", true},
		"ollama":                {spec.Service{Kind: "ollama", Enabled: true}, "", true},
		"external":              {spec.Service{Kind: "external", URL: "http://127.0.0.1:7/v1", APIs: start.AllAPIs, Enabled: true}, "", true},
		"external, lacking":     {spec.Service{Kind: "external", URL: "http://127.0.0.1:7/v1", APIs: start.AllAPIs, Enabled: true}, "a program", true},
		"external, not enabled": {spec.Service{Kind: "external", URL: "http://127.0.0.1:7/v1", APIs: start.AllAPIs}, "", true},
		"not in PATH":           {spec.Service{Kind: "llama-server", Enabled: true}, "llama-server is not in PATH", false},
		"llama-swap":            {spec.Service{Kind: "llama-swap", Enabled: true}, "llama-swap is not in PATH", false},
		"not enabled":           {spec.Service{Kind: "llama-server"}, "", false},
		"neither":               {spec.Service{Kind: "llama-server"}, "llama-server is not in PATH", false},
	}
)

// Every runtime, with every word of the spec, every state of its service, and
// with and without a generic local runtime beside it.
func TestAProgramIsPointedAtAServiceThatTheSpecGivesItAndThatServes(t *testing.T) {
	files := map[string]string{"codex": "file:~/.codex/config.toml /model", "opencode": "file:~/.config/opencode/opencode.json /model", "local-openai": "file:~/.config/rulesets/runtimes/local-openai/opencode.json /model"}
	tried := 0
	for _, id := range []string{"codex", "opencode", "copilot", "claude", "local-openai"} {
		for word, said := range saids {
			for state, service := range states {
				for _, local := range []bool{false, true} {
					if id == "local-openai" && !local {
						continue
					}
					tried++
					t.Run(fmt.Sprintf("%s/%s/%s/%v", id, word, state, local), func(t *testing.T) {
						h := pointed(t, service.service, id)
						h.Spec.Runtimes[0].Endpoint = said
						h.Spec.Runtimes[0].CLI = map[string]string{"local-openai": "opencode"}[id]
						if local && id != "local-openai" {
							h.Spec.Runtimes = append(h.Spec.Runtimes, spec.RuntimeUse{ID: "local-openai", CLI: "opencode"})
						}
						h.Spec.Services[0].Model = "m"
						h.Spec.Services = append(h.Spec.Services, spec.Service{Name: "lan", Kind: "external", URL: "http://127.0.0.1:8/v1", Model: "x", APIs: start.AllAPIs})
						h.Absent = func(s spec.Service) string { return service.lacks }

						wanted := said != nil && said.On || said == nil && id == "local-openai"
						serves := service.serves || word == "another's name"
						checkPointing(t, h, id, files[id], wanted, serves)
					})
				}
			}
		}
	}
	if tried < 400 {
		t.Errorf("tried %d", tried)
	}
}

// checkPointing declares h and compares what it does and says of the runtime id.
func checkPointing(t *testing.T, h Host, id, leaf string, wanted, serves bool) {
	d, err := h.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	text := show(d)
	_, written := values(d)[leaf]
	if want := wanted && serves && leaf != ""; written != want {
		t.Errorf("written: %v, want %v\n%s", written, want, text)
	}
	withheld := strings.Contains(text, "endpoint:"+id+": "+id+" is not pointed at service s: ")
	if want := wanted && !serves && id != "claude"; withheld != want {
		t.Errorf("the row that it is withheld: %v, want %v\n%s", withheld, want, text)
	}
	l, err := h.starts().Launch(id, "", "")
	pointed := l.Service.Name != ""
	switch {
	case id == "local-openai" && !(wanted && serves), id == "copilot" && wanted && !serves:
		if err == nil {
			t.Errorf("it is launched: %+v", l)
		}
	case err != nil:
		t.Errorf("launch: %v", err)
	case pointed != (wanted && serves && id != "claude"):
		t.Errorf("launched at %q, wanted %v", l.Service.Name, wanted)
	case !wanted && len(l.Environment) > 0:
		t.Errorf("launched with %v", l.Environment)
	}
}

func TestAnEndpointOfTheOldMeaningIsOneNoteThatSaysWhatToWrite(t *testing.T) {
	far := spec.Service{Kind: "external", URL: "http://127.0.0.1:1/v1", Model: "m", APIs: start.AllAPIs}
	tests := map[string]struct {
		runtimes []string
		said     map[string]*spec.EndpointUse
		want     string // what to write; "" for no note
	}{
		"all":            {[]string{"codex", "opencode", "copilot"}, nil, "runtimes: {codex: endpoint: true, opencode: endpoint: true, copilot: endpoint: true}"},
		"some":           {[]string{"codex", "opencode"}, map[string]*spec.EndpointUse{"codex": {On: true}}, "runtimes: {opencode: endpoint: true}"},
		"said of all":    {[]string{"codex", "opencode"}, map[string]*spec.EndpointUse{"codex": {On: true}, "opencode": {}}, ""},
		"a generic one":  {[]string{"codex", "local-openai"}, nil, ""},
		"none that can":  {[]string{"claude"}, nil, ""},
		"no runtime yet": {nil, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := pointed(t, far, test.runtimes...)
			for i := range h.Spec.Runtimes {
				h.Spec.Runtimes[i].Endpoint = test.said[h.Spec.Runtimes[i].ID]
			}
			d, err := h.Declare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Count(show(d), `note: endpoint "s" is for generic local runtimes only`)
			if want := min(1, len(test.want)); notes != want || !strings.Contains(show(d), test.want) {
				t.Errorf("%d notes, want %d with %q:\n%s", notes, want, test.want, show(d))
			}
		})
	}
}

// What an earlier apply pointed at a service stays where the machine lacks
// something, whole or not at all, and goes where the spec takes it away.
func TestEndpointSharesFateOfService(t *testing.T) {
	const missing = "llama-server is not in PATH"
	tests := map[string]struct {
		lacks   string
		enabled bool
		forgot  reconcile.LeafKey // which leaf is not as the last apply wanted it
		stays   bool
	}{
		"the machine lacks its program": {missing, true, "", true},
		"another was pointed to":        {missing, true, "/model", false},
		"the spec disables it":          {"", false, "", false},
		"both":                          {missing, false, "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := pointed(t, spec.Service{Kind: "llama-server", Model: "m", Port: 8081, Enabled: true}, "codex", "local-openai")
			h.Spec.Runtimes[1].CLI = "opencode"
			before, err := h.Declare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			records := map[string]bool{}
			for _, decl := range before.Declarations {
				for _, l := range decl.Leaves {
					if l.Key != test.forgot || test.forgot == "" {
						records[fmt.Sprint(decl.Target, l.Key, l.Body.Fingerprint())] = true
					}
				}
			}
			h.Spec.Services[0].Enabled = test.enabled
			h.Absent = func(spec.Service) string { return test.lacks }
			h.Recorded = func(a reconcile.Address, k reconcile.LeafKey, want reconcile.Fingerprint) bool {
				return records[fmt.Sprint(a, k, want)]
			}
			d, err := h.Declare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if stays := len(values(d)) == len(values(before)); stays != test.stays || !stays && len(values(d)) > 0 {
				t.Errorf("stays: %v\n%s", stays, show(d))
			}
			for _, id := range []string{"codex", "local-openai"} {
				says := "endpoint:" + id + ": " + id + " is not pointed at service s: "
				if test.stays {
					says = "endpoint:" + id + ": " + id + " stays pointed at service s, as an earlier apply left it: " + missing + "; see service:user/s, or write endpoint: false for " + id
				}
				if !strings.Contains(show(d), says) {
					t.Errorf("does not say %q:\n%s", says, show(d))
				}
			}
		})
	}
}
