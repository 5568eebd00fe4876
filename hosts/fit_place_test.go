package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
)

// withCards is a machine of so many GiB of main memory, with cards.
func withCards(memory int64, cards ...int64) facts.Facts {
	f := facts.Facts{Memory: facts.Memory{Total: memory << 30}}
	for i, vram := range cards {
		f.GPUs = append(f.GPUs, facts.GPU{Address: "0000:0" + string(rune('1'+i)) + ":00.0", Vendor: "10de", Device: "2684", Name: "NVIDIA GeForce RTX 4090", VRAM: vram << 30, Backends: []string{"cuda", "vulkan"}})
	}
	return f
}

func TestWhatDoesNotFitIsMovedByLayers(t *testing.T) {
	dense := loadOf(t, "dense", "Q4_K_M", 19_762, denseShape, 32768)
	experts := loadOf(t, "coder", "Q6_K", 25_093, coderShape, 32768)
	for name, c := range map[string]struct {
		f              facts.Facts
		load           Load
		place          Place
		level          Level
		layers, expert int64
	}{
		"a dense model of 27 GiB on 24 GiB": {withCards(64, 24), dense, InBoth, Tight, 47, 0},
		"a dense model of 27 GiB on 12 GiB": {withCards(64, 12), dense, InBoth, Tight, 22, 0},
		"experts of 22 GiB, 24 GiB":         {withCards(64, 24), experts, InBoth, Fits, EveryLayer, 16},
		"experts of 22 GiB, 12 GiB":         {withCards(64, 12), experts, InBoth, Fits, EveryLayer, 38},
		"more than both":                    {withCards(16, 12), loadOf(t, "dense", "Q8_0", 34_000, denseShape, 32768), InVRAM, No, EveryLayer, 0},
		"all of it fits":                    {withCards(64, 48), dense, InVRAM, Fits, EveryLayer, 0},
		"a header that was not read":        {withCards(64, 12), Load{Name: "x", Weights: 20 << 30}, InRAM, Tight, 0, 0},
	} {
		v := Fit([]Load{c.load}, c.f)
		n := v.Loads[0]
		if v.Place != c.place || v.Level != c.level || n.GPULayers != c.layers || n.CPUExperts != c.expert {
			t.Errorf("%s: %s in %s, %s: layers %d, experts of %d", name, v.Level, v.Place, v.Reason(), n.GPULayers, n.CPUExperts)
		}
		if v.Place == InBoth && (v.Need+v.MainNeed != n.Total || v.Need > fill(v.Budget)) {
			t.Errorf("%s: %d and %d of %d", name, v.Need, v.MainNeed, n.Total)
		}
	}
}

// One layer more would not fit: nothing is moved in vain.
func TestAsFewLayersAsPossibleAreMoved(t *testing.T) {
	dense := loadOf(t, "dense", "Q4_K_M", 19_762, denseShape, 32768)
	for vram := int64(8); vram < 28; vram++ {
		f := withCards(64, vram)
		v := Fit([]Load{dense}, f)
		if v.Place != InBoth {
			continue
		}
		n := dense.need(false)
		if more := n.keep(v.Loads[0].GPULayers + 1); more.graphics() <= fill(v.Budget) {
			t.Errorf("%d GiB: %d layers, and one more fits", vram, v.Loads[0].GPULayers)
		}
	}
}

func TestServicesShareACard(t *testing.T) {
	a, b := loadOf(t, "a", "Q4_K_M", 18_557, coderShape, 32768), loadOf(t, "b", "Q4_K_M", 10_000, denseShape, 8192)
	v := Fit([]Load{a, b}, withCards(64, 24))
	if v.Place != InBoth || v.Loads[0].CPUExperts == 0 || v.Loads[1].GPULayers != EveryLayer || v.Need > v.Budget {
		t.Errorf("%s %+v", v.Reason(), v.Loads)
	}
	b.Backend = "cpu"
	v = Fit([]Load{a, b}, withCards(64, 48))
	if v.Place != InBoth || v.Loads[0].CPUExperts != 0 || v.Loads[1].GPULayers != 0 || v.Loads[1].Backend != "cpu" || v.MainNeed != v.Loads[1].Total {
		t.Errorf("%s %s %+v", v.Place, v.Reason(), v.Loads)
	}
}

// The words of a spec win over what would fit, and are counted as they stand.
func TestTheSpecsWordsAreCounted(t *testing.T) {
	base := loadOf(t, "coder", "Q6_K", 25_093, coderShape, 32768)
	number := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		change func(*Load)
		level  Level
		place  Place
		layers int64
		expert int64
	}{
		"nothing":          {func(*Load) {}, Fits, InBoth, EveryLayer, 16},
		"cpu":              {func(l *Load) { l.Backend = "cpu" }, Fits, InRAM, 0, 0},
		"no layers":        {func(l *Load) { l.GPULayers = number(0) }, Fits, InRAM, 0, 0},
		"ten layers":       {func(l *Load) { l.GPULayers = number(10) }, Fits, InBoth, 10, 0},
		"all, by force":    {func(l *Load) { l.GPULayers = number(EveryLayer) }, No, InVRAM, EveryLayer, 0},
		"all experts away": {func(l *Load) { l.CPUExperts = number(999) }, Fits, InBoth, EveryLayer, 48},
		"as it looks":      {func(l *Load) { l.GPULayers = number(ServerDecides) }, Fits, InBoth, EveryLayer, 16},
	} {
		l := base
		c.change(&l)
		v := Fit([]Load{l}, withCards(64, 24))
		if n := v.Loads[0]; v.Level != c.level || v.Place != c.place || n.GPULayers != c.layers || n.CPUExperts != c.expert {
			t.Errorf("%s: %s in %s, %s: layers %d, experts of %d", name, v.Level, v.Place, v.Reason(), n.GPULayers, n.CPUExperts)
		}
	}
}

func TestCacheOfTwoTypes(t *testing.T) {
	l := loadOf(t, "coder", "Q6_K", 25_093, coderShape, 32768)
	l.Cache, l.Values = "q8_0", "q4_0"
	if n := l.need(false); n.PerToken != 24576*34/32+24576*18/32 {
		t.Errorf("%+v", n)
	}
}

func TestAContextBeyondTheModelTakesMemory(t *testing.T) {
	v := Fit([]Load{loadOf(t, "dense", "Q4_K_M", 19_762, denseShape, 131072)}, withCards(64, 48))
	if v.Loads[0].Context != 131072 || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "131072 tokens is more than the 40960") {
		t.Errorf("%d %q", v.Loads[0].Context, v.Notes)
	}
}

// Fit names a card that it cannot read, and never counts it as none: what main memory
// cannot hold is unknown, and the server looks for itself.
func TestAnUnreadCardIsUnknown(t *testing.T) {
	f := withCards(32, 0)
	f.GPUs[0].MemoryUnknown = "nvidia-smi is not installed"
	for size, level := range map[int64]Level{18_557: Fits, 60_000: Unknown} {
		v := Fit([]Load{loadOf(t, "coder", "Q4_K_M", size, coderShape, 32768)}, f)
		if v.Level != level || v.Loads[0].GPULayers != ServerDecides || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "nvidia-smi is not installed; or give it in the host's spec: gpu: {memoryGiB: N}") || v.Warn {
			t.Errorf("%d: %s %+v", size, v.Level, v)
		}
	}
	f.GPUs[0].Backends = nil // and nothing can compute on it
	if v := Fit([]Load{loadOf(t, "coder", "Q4_K_M", 60_000, coderShape, 32768)}, f); v.Level != No || v.Loads[0].GPULayers != 0 || len(v.Notes) != 2 {
		t.Errorf("%+v", v)
	}
	if c := PickQuant(coder, f); !strings.HasSuffix(c.Reason, "; the memory of NVIDIA GeForce RTX 4090 is unknown") {
		t.Errorf("%+v", c)
	}
}

func TestTheBackendIsAskedForOrTheBest(t *testing.T) {
	card := withCards(64, 24)
	none := facts.Facts{Memory: facts.Memory{Total: 64 << 30}}
	bare, cudaAlone := withCards(64, 24), withCards(64, 24)
	cudaAlone.GPUs[0].Backends = []string{"cuda"}
	bare.GPUs[0].Backends = nil
	for name, c := range map[string]struct {
		want    string
		build   []string
		f       facts.Facts
		backend string
		problem string
	}{
		"the best":                  {"", nil, card, "cuda", ""},
		"the best of the build":     {"", []string{"vulkan", "cpu"}, card, "vulkan", ""},
		"asked":                     {"vulkan", nil, card, "vulkan", ""},
		"asked, not in the build":   {"vulkan", []string{"cpu"}, card, "vulkan", "vulkan is asked for, but this build of llama-server has CPU only: install one with Vulkan (or so)"},
		"asked, not in the machine": {"rocm", nil, card, "rocm", "rocm is asked for, but this machine has CUDA, Vulkan only"},
		"a build for the processor": {"", []string{"cpu"}, card, "cpu", "this build of llama-server has CPU only, so that NVIDIA GeForce RTX 4090 is idle: install one with CUDA (or so)"},
		"the processor, asked":      {"cpu", []string{"cpu"}, card, "cpu", ""},
		"no card":                   {"", []string{"cpu"}, none, "cpu", ""},
		"no card, asked":            {"cuda", nil, none, "cuda", "cuda is asked for, but this machine has CPU only"},
		"asked, without a driver":   {"vulkan", nil, cudaAlone, "vulkan", "vulkan is asked for, but this machine has CUDA only: install the Vulkan driver of NVIDIA GeForce RTX 4090"},
		"no driver":                 {"", nil, bare, "cpu", "nothing computes on NVIDIA GeForce RTX 4090: install NVIDIA's driver"},
	} {
		if backend, problem := (Load{Backend: c.want, Build: c.build, Remedy: "or so"}).computes(c.f); backend != c.backend || problem != c.problem {
			t.Errorf("%s: %q %q", name, backend, problem)
		}
	}
}

func TestUnequalCardsAreSplit(t *testing.T) {
	l := []Load{loadOf(t, "coder", "Q4_K_M", 18_557, coderShape, 32768)}
	if v := Fit(l, withCards(64, 12, 24)); v.Place != InVRAM || !slices.Equal(v.Split, []int64{11, 22}) {
		t.Errorf("%s %v", v.Place, v.Split)
	}
	if v := Fit(l, withCards(64, 24, 24)); v.Place != InVRAM || v.Split != nil {
		t.Errorf("%s %v", v.Place, v.Split)
	}
	if v := Fit(l, withCards(64, 2, 32)); !slices.Equal(v.Split, []int64{0, 29}) {
		t.Errorf("%v", v.Split)
	}
}

// Old conversations take what the models leave, and never turn a verdict.
func TestOldConversationsAreBounded(t *testing.T) {
	l := loadOf(t, "next", "Q4_K_M", 48_400, nextShape, 262144)
	pearl, _ := Recorded("pearl")
	velox, _ := Recorded("velox")
	said := int64(0)
	for _, c := range []struct {
		f    facts.Facts
		said *int64
		want int64
	}{{pearl, nil, 2 * gib64}, {velox, nil, gib64 / 4}, {pearl, &said, 0}} {
		l.Prompts = c.said
		v := Fit([]Load{l}, c.f)
		if v.Loads[0].Prompts != c.want || v.Need+v.Loads[0].Prompts > v.Budget || v.MemoryOf("next") != v.Need+c.want+v.Loads[0].kept() {
			t.Errorf("%d: %+v", c.want, v)
		}
	}
}

// An estimate follows the bandwidth of where weights lie, and what is read of
// them for a token.
func TestSpeedIsEstimated(t *testing.T) {
	active := loadOf(t, "coder", "Q4_K_M", 18_557, coderShape+" active=59", 32768) // 8 of 128 experts
	for name, c := range map[string]struct {
		f        facts.Facts
		load     Load
		from, to float64
	}{
		"a card":                      {withCards(64, 24), active, 200, 500},
		"a processor":                 {withCards(64), active, 10, 30},
		"dense on a card":             {withCards(64, 32), loadOf(t, "d", "Q4_K_M", 19_762, denseShape, 8192), 25, 35},
		"dense, partly on a card":     {withCards(64, 12), loadOf(t, "d", "Q4_K_M", 19_762, denseShape, 8192), 2, 6},
		"active experts are unknown":  {withCards(64, 24), loadOf(t, "coder", "Q4_K_M", 18_557, coderShape, 32768), 0, 0},
		"a size alone, without shape": {withCards(64, 24), Load{Name: "x", Weights: 1 << 30}, 0, 0},
	} {
		if v := Fit([]Load{c.load}, c.f); v.Loads[0].Speed < c.from || v.Loads[0].Speed > c.to {
			t.Errorf("%s: %.1f", name, v.Loads[0].Speed)
		}
	}
}

// The build of a server is known by the libraries beside it, as distributions and
// archives lay them out.
func TestTheBuildIsReadFromLibraries(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		files   []string
		want    []string
	}{
		"Debian":              {"usr/bin/llama-server", []string{"usr/lib/x86_64-linux-gnu/libggml-base.so.0", "usr/lib/x86_64-linux-gnu/ggml/backends0/libggml-cpu-haswell.so"}, []string{"cpu"}},
		"Debian, with Vulkan": {"usr/bin/llama-server", []string{"usr/lib/x86_64-linux-gnu/ggml/backends0/libggml-vulkan.so"}, []string{"vulkan", "cpu"}},
		"Arch":                {"usr/bin/llama-server", []string{"usr/lib/libggml-base.so", "usr/lib/libggml-cuda.so"}, []string{"cuda", "cpu"}},
		"an archive":          {"opt/llama/llama-server", []string{"opt/llama/libggml-hip.so", "opt/llama/libggml-cpu-zen4.so", "opt/llama/libggml-vulkan.so"}, []string{"rocm", "vulkan", "cpu"}},
		"one file":            {"usr/local/bin/llama-server", nil, nil},
	} {
		root := t.TempDir()
		for _, f := range append(c.files, c.program) {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, f)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, f), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := (machine{root: root}).buildOf("/" + c.program); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := (machine{}).buildOf("/no/such/llama-server"); got != nil {
		t.Error(got)
	}
}
