package pin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/gguf/gguftest"
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

// A model is noted as its service serves it, and as models fit judges it: the files
// of a digest that the spec has are read where they are.
func TestModelIsNotedAsItsServiceServesIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.gguf")
	must(t, gguftest.Small()[0].Write(file)) // a cache of 24 KiB for each token
	info, err := os.Stat(file)
	must(t, err)
	for name, c := range map[string]struct {
		context int
		args    []string
		note    string
	}{
		"its usual context":    {32768, nil, `model "m" at Q8_0 does not fit: it needs 0.8 GiB`},
		"less context":         {4096, nil, ""},
		"a smaller cache":      {16384, []string{"--cache-type-k", "q4_0", "--cache-type-v", "q4_0"}, ""},
		"more than it has":     {40000, []string{"-ctk", "q4_0", "-ctv", "q4_0"}, "s: the context of 40000 tokens is more than the 32768 that the model was made for: the server grants those, and takes the memory of all"},
		"no service serves it": {0, nil, `model "m" at Q8_0 does not fit: it needs 0.8 GiB`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.facts = facts.Facts{Memory: facts.Memory{Total: 9 << 29}} // half a GiB for models
			s.model("m", "Q8_0", spec.Quant{Name: "Q8_0", Files: []spec.ModelFile{{Path: "m.gguf", SHA256: strings.Repeat("1", 64), Size: info.Size(), Sources: []string{file}}}})
			if c.context > 0 {
				s.host.Services = []spec.Service{{Name: "s", Kind: "llama-server", Model: "m", Enabled: true, Context: c.context, Args: c.args}}
			}
			r := s.resolver(Look, offline, func(r *Resolver) { r.Owned = nil })
			_, err := s.models(r)
			must(t, err)
			res, err := r.Result()
			must(t, err)
			var notes []string
			for _, n := range res.Notes {
				notes = append(notes, n.Text)
			}
			if c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0], c.note)) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}
