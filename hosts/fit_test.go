package hosts

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

func shaped(t *testing.T, text string) *spec.Shape {
	t.Helper()
	s, err := spec.ParseShape(text)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// The headers of the catalog's models, as package gguf gives them; the shares
// of experts are round numbers.
const (
	coderShape = "qwen3moe context=262144 layers=48 attention=48 key=24576 value=24576 vocabulary=151936 embedding=2048 tensors=1000 experts=950"
	nextShape  = "qwen3next context=262144 layers=48 attention=12 key=6144 value=6144 recurrent=36 state=79036416 vocabulary=151936 embedding=2048 tensors=1000 experts=960"
	gemmaShape = "gemma3 context=131072 layers=48 attention=8 key=16384 value=16384 windowed=40 window=1024 window-key=81920 window-value=81920 vocabulary=262144 embedding=3840"
	denseShape = "qwen3 context=40960 layers=64 attention=64 key=65536 value=65536 vocabulary=151936 embedding=5120"
)

func loadOf(t *testing.T, name, quant string, megabytes int64, shape string, context int64) Load {
	return Load{Name: name, Model: name, Quant: quant, Weights: megabytes * 1_000_000, Shape: shaped(t, shape), Context: context}
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
)

func TestNeedIsExact(t *testing.T) {
	for name, c := range map[string]struct {
		load                            Load
		perToken, cache, state, compute int64
	}{
		"all attention, usual context":  {loadOf(t, "coder", "Q6_K", 25_093, coderShape, 0), 96 * kib, 3 * gib64, 0, 512 * mib},
		"all attention, full context":   {loadOf(t, "coder", "Q6_K", 25_093, coderShape, 262144), 96 * kib, 24 * gib64, 0, 512 * mib},
		"hybrid, usual context":         {loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 0), 24 * kib, 768 * mib, 79036416, 512 * mib},
		"hybrid, full context":          {loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 262144), 24 * kib, 6 * gib64, 79036416, 512 * mib},
		"windows are full":              {loadOf(t, "gemma", "Q4_0", 7_000, gemmaShape, 131072), 64 * kib, 131072*64*kib + (1024+512)*320*kib, 0, 4 * 512 * (262144 + 4*3840)},
		"windows are not full":          {loadOf(t, "gemma", "Q4_0", 7_000, gemmaShape, 1000), 64 * kib, 1000 * 384 * kib, 0, 4 * 512 * (262144 + 4*3840)},
		"a model made for less context": {loadOf(t, "small", "Q8_0", 1, "x context=2048 layers=1 attention=1 key=1024 value=1024", 0), 4 * kib, 8 * mib, 0, 512 * mib},
	} {
		n := c.load.need(false)
		if n.PerToken != c.perToken || n.KV != c.cache || n.State != c.state || n.Compute != c.compute || n.Total != c.load.Weights+c.cache+c.state+c.compute || n.Estimated {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

func TestNeedCountsSequencesAndCacheType(t *testing.T) {
	l := loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 32768)
	l.Sequences = 4
	if n := l.need(false); n.KV != 3*gib64 || n.State != 4*79036416 {
		t.Errorf("%+v", n)
	}
	l.Sequences = 1
	for kind, want := range map[string]int64{"": 768 * mib, "bf16": 768 * mib, "q8_0": 408 * mib, "q5_1": 288 * mib, "q4_0": 216 * mib, "f32": 1536 * mib} {
		l.Cache = kind
		if n := l.need(false); n.KV != want {
			t.Errorf("%s: %d, want %d", kind, n.KV, want)
		}
	}
	if n := l.need(true); n.Compute != 512*mib+l.Weights/20 {
		t.Errorf("repacked weights: %d", n.Compute)
	}
}

func TestPearlServesBothModels(t *testing.T) {
	f, _ := Recorded("pearl")
	next := loadOf(t, "big", "Q4_K_M", 48_400, nextShape, 262144)
	alone := Fit([]Load{next}, f)
	if gib := alone.Need / gib64; gib != 51 || alone.Level != Fits {
		t.Errorf("%s: %s", alone.Level, alone.Reason())
	}
	v := Fit([]Load{loadOf(t, "coder", "Q6_K", 25_093, coderShape, 65536), next}, f)
	if v.Level != Fits || v.Place != InUnified || v.Budget != 115964116992+536870912 || v.Need != alone.Need+25_093_000_000+6*gib64+512*mib || v.Warn || len(v.Advice) != 0 {
		t.Errorf("%+v", v)
	}
	if got := v.Reason(); got != "needs 81.5 GiB of 108.5 GiB of unified memory" {
		t.Error(got)
	}
}

func TestVerdictNamesPlace(t *testing.T) {
	pearl, _ := Recorded("pearl")
	velox, _ := Recorded("velox")
	machine := func(memory int64, cards ...int64) facts.Facts {
		f := facts.Facts{Memory: facts.Memory{Total: memory << 30}}
		for _, vram := range cards {
			f.GPUs = append(f.GPUs, facts.GPU{Vendor: "10de", VRAM: vram << 30, Backends: []string{"cuda"}})
		}
		return f
	}
	coderQ4 := loadOf(t, "coder", "Q4_K_M", 18_557, coderShape, 32768)
	coderQ6 := loadOf(t, "coder", "Q6_K", 25_093, coderShape, 32768)
	next := loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 262144)
	dense := loadOf(t, "dense", "Q8_0", 34_000, denseShape, 32768)
	for name, c := range map[string]struct {
		f     facts.Facts
		loads []Load
		level Level
		place Place
	}{
		"nothing is served":                     {pearl, nil, Fits, InUnified},
		"the processor alone":                   {velox, []Load{coderQ4}, Fits, InRAM},
		"most of the memory":                    {velox, []Load{next}, Tight, InRAM},
		"more than the memory":                  {velox, []Load{next, coderQ4}, No, InRAM},
		"all on the card":                       {machine(64, 32), []Load{coderQ4}, Fits, InVRAM},
		"nearly all of the card":                {machine(64, 24), []Load{coderQ4}, Tight, InVRAM},
		"the experts beside the card":           {machine(64, 24), []Load{coderQ6}, Fits, InBoth},
		"the larger model's experts are enough": {machine(64, 32), []Load{coderQ4, loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 131072)}, Fits, InBoth},
		"experts too large for the main memory": {machine(32, 24), []Load{next}, No, InVRAM},
		"no experts, and some layers fit":       {machine(64, 24), []Load{dense}, Tight, InBoth},
		"two cards":                             {machine(64, 24, 24), []Load{dense}, Tight, InVRAM},
		"two cards have room for more":          {machine(64, 24, 24), []Load{coderQ6}, Fits, InVRAM},
		"a card that is too small for any":      {machine(64, 4), []Load{coderQ4}, Fits, InRAM},
		"nothing is known":                      {facts.Facts{}, []Load{coderQ4}, Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := Fit(c.loads, c.f)
			if v.Level != c.level || v.Place != c.place || len(v.Loads) != len(c.loads) {
				t.Errorf("%s in %s, %s", v.Level, v.Place, v.Reason())
			}
			if v.Place == InBoth && (v.Need > v.Budget || v.MainNeed == 0 || v.MainNeed > v.MainBudget) {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestFreeMemoryDecidesNothing(t *testing.T) {
	f, _ := Recorded("pearl")
	loads := []Load{loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 262144)}
	v := Fit(loads, f)
	if v.Free != (Free{Main: 120259084288, Graphics: 402653184}) {
		t.Errorf("%+v", v.Free)
	}
	f.GPUs = slices.Clone(f.GPUs)
	f.Memory.Available, f.GPUs[0].VRAMFree = 1, 1
	w := Fit(loads, f)
	w.Free = v.Free
	if !reflect.DeepEqual(v, w) {
		t.Errorf("%+v\n%+v", v, w)
	}
}

func TestAdviceMakesItFit(t *testing.T) {
	f := facts.Facts{Memory: facts.Memory{Total: 34 << 30}} // 29.9 GiB for models
	l := loadOf(t, "coder", "Q6_K", 25_093, coderShape, 65536)
	l.Quants = []spec.Quant{quant("Q4_K_M", 18_557), quant("Q5_K_M", 21_726), quant("Q6_K", 25_093)}
	v := Fit([]Load{l}, f)
	var got []string
	for _, a := range v.Advice {
		got = append(got, a.Change+" "+a.Value)
		if a.Level == No || a.Need > v.Budget || a.Text == "" || a.Name != "coder" {
			t.Errorf("%+v", a)
		}
	}
	if want := []string{"cache q8_0", "context 32768", "quant Q5_K_M"}; v.Level != No || !slices.Equal(got, want) {
		t.Errorf("%s, %s, %q, want %q", v.Level, v.Reason(), got, want)
	}
	if v = Fit([]Load{l}, facts.Facts{Memory: facts.Memory{Total: 26 << 30}}); len(v.Advice) != 1 || v.Advice[0].Change != "all" {
		t.Errorf("only all of it helps: %+v", v.Advice)
	}
	if v = Fit([]Load{l}, facts.Facts{Memory: facts.Memory{Total: 8 << 30}}); len(v.Advice) != 0 || v.Level != No {
		t.Errorf("nothing helps: %+v", v.Advice)
	}
	v = Fit([]Load{loadOf(t, "a", "Q6_K", 25_093, coderShape, 16384), loadOf(t, "b", "Q6_K", 25_093, coderShape, 16384)}, facts.Facts{Memory: facts.Memory{Total: 36 << 30}})
	if len(v.Advice) != 2 || v.Advice[0].Change != "without" {
		t.Errorf("one of two: %+v", v.Advice)
	}
}

func TestAdviceRaisesDriverLimit(t *testing.T) {
	f, _ := Recorded("pearl")
	f.GPUs = []facts.GPU{{Driver: "amdgpu", Unified: true, VRAM: 512 << 20, GTT: 40 << 30}}
	v := Fit([]Load{loadOf(t, "big", "Q4_K_M", 48_400, nextShape, 262144)}, f)
	if v.Level != No || len(v.Advice) == 0 || v.Advice[0].Change != "graphics-limit" || !strings.Contains(v.Advice[0].Text, "ttm.pages_limit=") {
		t.Errorf("%s %+v", v.Reason(), v.Advice)
	}
}

func TestIgnoreSilencesOnlyTheWarning(t *testing.T) {
	f, _ := Recorded("velox")
	a, b := loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 0), loadOf(t, "coder", "Q6_K", 25_093, coderShape, 0)
	a.Ignore = true
	v := Fit([]Load{a, b}, f)
	if v.Level != No || v.Loads[0].Warn || !v.Loads[1].Warn || !v.Warn {
		t.Errorf("%+v", v)
	}
	b.Ignore = true
	if v = Fit([]Load{a, b}, f); v.Level != No || v.Warn {
		t.Errorf("%+v", v)
	}
}

func TestNeedIsEstimatedWithoutHeader(t *testing.T) {
	f, _ := Recorded("velox")
	v := Fit([]Load{{Name: "coder", Weights: 18_557_000_000}}, f)
	if n := v.Loads[0]; !n.Estimated || n.Total != 18_557_000_000*11/10+2*gib64 || v.Level != Fits {
		t.Errorf("%+v", v)
	}
}

func TestImpossibleShapeDoesNotFit(t *testing.T) {
	huge := int64(math.MaxInt64)
	f, _ := Recorded("pearl")
	l := Load{Name: "x", Weights: huge / 2000, Context: huge, Sequences: huge, Quants: []spec.Quant{quant("Q4_K_M", 1000)},
		Shape: &spec.Shape{Key: huge, Value: huge, Window: huge, WindowKey: huge, WindowValue: huge, State: huge, Vocabulary: huge, Embedding: huge, TensorBytes: huge, ExpertsBytes: huge}}
	if v := Fit([]Load{l, l, l}, f); v.Level != No || v.Need < 0 {
		t.Errorf("%s %d", v.Level, v.Need)
	}
}

func TestVerdictJSONNamesUnits(t *testing.T) {
	f, _ := Recorded("velox")
	b, err := json.Marshal(Fit([]Load{loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 262144)}, f))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"verdict":"tight","place":"cpu","need_bytes":57878358272,"budget_bytes":59055800320,"loads":[{"name":"next","model":"next","quant":"Q4_K_M","context_tokens":262144,"sequences":1,"cache_type":"f16",` +
		`"weights_bytes":48400000000,"experts_bytes":46464000000,"cache_bytes_per_token":24576,"cache_bytes":6442450944,"state_bytes":79036416,"compute_bytes":2956870912,"need_bytes":57878358272,` +
		`"layers":48,"cache_layers":12,"estimated":false,"warn":false,"backend":"cpu","gpu_layers":0,"prompt_cache_bytes":268435456,"checkpoint_bytes":79036416,"checkpoints":3}],"advice":[],"warn":false,"free_now":{"main_bytes":58000000000,"graphics_bytes":0},"notes":[]}`
	if string(b) != want {
		t.Errorf("\n got %s\nwant %s", b, want)
	}
}
