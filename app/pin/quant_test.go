package pin

import (
	"fmt"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

func TestAutoQuantFollowsTheFactsAndIsPinnedForTheHost(t *testing.T) {
	sized := func(name string, gib int64) spec.Quant {
		return spec.Quant{Name: name, Files: []spec.ModelFile{{Path: name + ".gguf", SHA256: strings.Repeat(fmt.Sprint(gib%10), 64), Size: gib << 30}}}
	}
	quants := []spec.Quant{sized("Q4_K_M", 5), sized("Q8_0", 9), sized("F16", 40)}
	memory := func(gib int64, graphics bool) facts.Facts {
		f := facts.Facts{Memory: facts.Memory{Total: facts.Bytes(gib << 30)}}
		if graphics {
			f.GPUs = []facts.GPU{{Vendor: "10de", VRAM: facts.Bytes(24 << 30), Backends: []string{"cuda"}}}
		}
		return f
	}
	for _, c := range []struct {
		facts facts.Facts
		want  string
	}{{memory(64, false), "Q4_K_M"}, {memory(64, true), "Q8_0"}, {memory(2, false), "Q4_K_M"}, {facts.Facts{}, "Q4_K_M"}} {
		s := newStage(t)
		s.facts = c.facts
		s.model("m", "auto", quants...)
		if q, err := s.models(s.resolver(Look)); err != nil || q["m"].Name != c.want {
			t.Errorf("looking: %q, %v; want %q", q["m"].Name, err, c.want)
		}
		r := s.resolver(Pin)
		if q, err := s.models(r); err != nil || q["m"].Name != c.want {
			t.Errorf("%q, %v; want %q", q["m"].Name, err, c.want)
		}
		s.settle(r)
		pin, _ := s.hostLock.Lock.Pin("quant", "m", "velox")
		if pin.Host != "velox" || pin.Values["quant"] != c.want || pin.Values["reason"] == "" {
			t.Errorf("pinned %+v", pin)
		}
		// Other facts move no pin; an update does.
		s.facts = memory(64, true)
		if q, err := s.models(s.resolver(Pin, offline)); err != nil || q["m"].Name != c.want {
			t.Errorf("pinned, on another machine: %q, %v", q["m"].Name, err)
		}
		if q, err := s.models(s.resolver(Lock, update("m"))); err != nil || q["m"].Name != "Q8_0" {
			t.Errorf("updated: %q, %v", q["m"].Name, err)
		}
	}
}

// Another preference is another question: the pin of the old one does not answer it.
func TestAutoQuantFollowsThePreference(t *testing.T) {
	sized := func(name string, gib int64) spec.Quant {
		return spec.Quant{Name: name, Files: []spec.ModelFile{{Path: name + ".gguf", SHA256: strings.Repeat(fmt.Sprint(gib%10), 64), Size: gib << 30}}}
	}
	s := newStage(t)
	s.facts = facts.Facts{Memory: facts.Memory{Total: 64 << 30}}
	s.model("m", "auto", sized("Q4_K_M", 5), sized("Q8_0", 9))
	for _, c := range []struct{ prefer, want string }{{"", "Q4_K_M"}, {"quality", "Q8_0"}, {"quality", "Q8_0"}, {"speed", "Q4_K_M"}, {"", "Q4_K_M"}} {
		s.host.Models[0].Prefer = c.prefer
		r := s.resolver(Pin)
		if q, err := s.models(r); err != nil || q["m"].Name != c.want {
			t.Errorf("%q: %q, %v; want %q", c.prefer, q["m"].Name, err, c.want)
		}
		s.settle(r)
		if pin, _ := s.hostLock.Lock.Pin("quant", "m", "velox"); pin.Values["prefer"] != c.prefer || pin.Values["quant"] != c.want {
			t.Errorf("%q: pinned %+v", c.prefer, pin)
		}
	}
}

func TestAutoQuantPassesByAQuantThatLacksAShard(t *testing.T) {
	s := newStage(t)
	s.hub.Add("me/m", hubtest.File{Path: "m-Q8_0-00002-of-00002.gguf", Data: tiny(t, 1)}, hubtest.File{Path: "m-Q4_K_M.gguf", Data: tiny(t, 2)})
	s.model("m", "auto", spec.Quant{Name: "Q8_0", Repo: "me/m"}, spec.Quant{Name: "Q6_K", Repo: "me/m"}, spec.Quant{Name: "Q4_K_M", Repo: "me/m"})
	r := s.resolver(Lock)
	if q, err := s.models(r); err != nil || q["m"].Name != "Q4_K_M" || len(q["m"].Files) != 1 {
		t.Errorf("%+v, %v", q["m"], err)
	}
	s.settle(r)
	if pin, _ := s.hostLock.Lock.Pin("quant", "m", "velox"); !strings.Contains(pin.Values["reason"], "without Q8_0, which me/m does not have whole; without Q6_K") {
		t.Errorf("pinned %+v", pin)
	}
	none := newStage(t)
	none.hub.Add("me/m", hubtest.File{Path: "m-Q8_0-00002-of-00002.gguf", Data: tiny(t, 1)})
	none.model("m", "auto", spec.Quant{Name: "Q8_0", Repo: "me/m"}, spec.Quant{Name: "Q6_K", Repo: "me/m"})
	if _, err := none.models(none.resolver(Lock)); err == nil || !strings.Contains(err.Error(), "m-Q8_0-00001-of-00002.gguf") {
		t.Errorf("with none that is whole: %v", err)
	}
}

func TestAutoQuantAsksForTheSizesThatTheCatalogLacks(t *testing.T) {
	s := newStage(t)
	s.hub.Add("me/m", hubtest.File{Path: "m-Q8_0.gguf", Data: append(tiny(t, 1), 0)}, hubtest.File{Path: "m-Q4_K_M.gguf", Data: tiny(t, 2)})
	s.model("m", "auto", spec.Quant{Name: "Q8_0", Repo: "me/m"}, spec.Quant{Name: "Q4_K_M", Repo: "me/m"})
	if q, err := s.models(s.resolver(Look)); err != nil || q["m"].Name != "auto" || len(q["m"].Files) != 0 {
		t.Errorf("looking: %+v, %v", q, err)
	}
	r := s.resolver(Ask)
	if q, err := s.models(r); err != nil || q["m"].Name != "Q4_K_M" || q["m"].Size() != 483136 {
		t.Errorf("asking: %+v, %v", q, err)
	}
	if res, err := r.Result(); err != nil || len(res.Pins) != 0 {
		t.Errorf("asking pins %+v, %v", res.Pins, err)
	}
	r = s.resolver(Pin)
	_, err := s.models(r)
	must(t, err)
	s.settle(r)
	pin, _ := s.hostLock.Lock.Pin("quant", "m", "velox")
	if x, _ := r.Chosen("m"); x.Quant.Name != "Q4_K_M" || x.Shape == nil || pin.Values["shape"] != x.Shape.String() {
		t.Errorf("chosen %+v, pinned %v", x, pin.Values)
	}

	s.hostLock.Lock.SetPin(reconcile.Pin{Kind: "quant", Name: "m", Host: "velox", Values: map[string]string{"quant": "Q2_K"}})
	_, err = s.models(s.resolver(Pin))
	wantError(t, err, Unfit, "m", `quant "Q2_K", pinned in aisync.lock, no longer exists`)
}

func TestAutoQuantLeavesRoomForWhatIsServedBeside(t *testing.T) {
	sized := func(name string, gib int64) spec.Quant {
		return spec.Quant{Name: name, Files: []spec.ModelFile{{Path: name + ".gguf", SHA256: strings.Repeat("1", 64), Size: gib << 30}}}
	}
	serve := func(s *stage, enabled bool) {
		s.host.Services = []spec.Service{{Name: "a", Kind: "llama-server", Model: "beside", Enabled: enabled}, {Name: "b", Kind: "llama-server", Model: "m", Enabled: true, Context: 8192}}
	}
	for enabled, want := range map[bool]string{false: "Q8_0", true: "Q4_K_M"} {
		s := newStage(t)
		s.facts = facts.Facts{Memory: facts.Memory{Total: 32 << 30}, GPUs: []facts.GPU{{Vendor: "10de", VRAM: 24 << 30, Backends: []string{"cuda"}}}}
		s.model("beside", "", sized("F16", 10))
		s.model("m", "auto", sized("Q4_K_M", 5), sized("Q8_0", 16))
		serve(s, enabled)
		if q, err := s.models(s.resolver(Look)); err != nil || q["m"].Name != want {
			t.Errorf("beside another that is served %v: %q, %v; want %q", enabled, q["m"].Name, err, want)
		}
	}
}
