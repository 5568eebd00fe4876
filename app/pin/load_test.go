package pin

import (
	"fmt"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

func TestModelsThatDoNotFitAreNoted(t *testing.T) {
	big := func(id string, gib int64) (string, string, spec.Quant) {
		return id, "", spec.Quant{Name: "F16", Files: []spec.ModelFile{{Path: id + ".gguf", SHA256: strings.Repeat("1", 64), Size: gib << 30}}}
	}
	served := func(name, kind string, enabled bool, models ...string) spec.Service {
		return spec.Service{Name: name, Kind: kind, Models: models, Enabled: enabled, Context: 4096, Pos: spec.Position{File: name + ".cue", Line: 1, Col: 1}}
	}
	two := served("a", "llama-server", true, "m0", "m1")
	two.Loaded = 2
	for _, c := range []struct {
		name     string
		sizes    []int64
		services []spec.Service
		ignore   bool
		kind     NoteKind
		text     string
		loads    int
	}{
		{name: "fits", sizes: []int64{1}},
		{name: "too large", sizes: []int64{900}, kind: TooLarge, text: `model "m0" at F16 does not fit: it `},
		{name: "ignored", sizes: []int64{900}, ignore: true},
		{name: "together", sizes: []int64{40, 40}, services: []spec.Service{served("a", "llama-server", true, "m0"), served("b", "llama-server", true, "m1")}, kind: TooLargeTogether, text: "the models of the enabled services do not fit at once: serving them ", loads: 2},
		{name: "one is disabled", sizes: []int64{40, 40}, services: []spec.Service{served("a", "llama-server", true, "m0"), served("b", "llama-server", false, "m1")}, loads: 1},
		{name: "one at a time", sizes: []int64{40, 39}, services: []spec.Service{served("a", "llama-swap", true, "m0", "m1")}, loads: 1},
		{name: "a router's, one at a time", sizes: []int64{40, 41}, services: []spec.Service{served("a", "llama-server", true, "m0", "m1")}, loads: 1},
		{name: "a router's, two at once", sizes: []int64{40, 41}, services: []spec.Service{two}, kind: TooLargeTogether, text: "the models of the enabled services do not fit at once: serving them ", loads: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.facts = facts.Facts{Memory: facts.Memory{Total: 62 << 30}}
			for i, gib := range c.sizes {
				id, quant, q := big(fmt.Sprint("m", i), gib)
				s.model(id, quant, q)
				if c.ignore {
					s.host.Models[i].Fit = "ignore"
				}
			}
			s.host.Services = c.services
			for i, sv := range c.services {
				if sv.Kind == "llama-server" && len(sv.Models) == 1 {
					s.host.Services[i].Model, s.host.Services[i].Models = sv.Models[0], nil
				}
			}
			r := s.resolver(Look, func(r *Resolver) { r.Owned = nil })
			_, err := s.models(r)
			must(t, err)
			res, err := r.Result()
			must(t, err)
			if c.text == "" && len(res.Notes) != 0 || c.text != "" && (len(res.Notes) != 1 || res.Notes[0].Kind != c.kind || !strings.HasPrefix(res.Notes[0].Text, c.text) || res.Notes[0].Pos.Line != 1) {
				t.Errorf("notes %+v", res.Notes)
			}
			loads := r.ServiceLoads()
			if len(loads) != c.loads {
				t.Fatalf("loads %+v", loads)
			}
			for _, l := range loads {
				if l.Weights < 40<<30 || l.Context != 4096 || !strings.HasPrefix(l.Name, c.services[map[string]int{"m0": 0, "m1": len(c.services) - 1}[l.Model]].Name) {
					t.Errorf("load %+v", l)
				}
			}
		})
	}
}
