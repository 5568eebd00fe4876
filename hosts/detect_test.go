package hosts

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// tree lays out testdata/<name>.txtar below a new folder. A file whose content
// starts with "-> " becomes a link.
func tree(t testing.TB, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range archive.Files {
		p := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(string(f.Data), "-> "); ok {
			err = os.Symlink(strings.TrimSpace(target), p)
		} else {
			err = os.WriteFile(p, f.Data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDetectMachine(t *testing.T) {
	root := tree(t, "strix")
	f := Detect(context.Background(), Options{Root: root, Kernel: root, Home: "/home/me", Path: []string{"/usr/bin"}})
	for _, d := range f.Disks {
		if d.Free <= 0 || d.Size < d.Free {
			t.Errorf("disk %+v", d)
		}
	}
	f.Disks = nil
	want := facts.Facts{
		FormatVersion: facts.FormatVersion, Hostname: "pearl", OS: f.OS, Arch: f.Arch, Distro: "arch", Product: "Framework Desktop",
		CPU:      facts.CPU{Model: "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", Cores: 2, Threads: 4, Flags: []string{"avx2", "avx512f"}},
		Memory:   facts.Memory{Total: 131072000 << 10, Physical: 4 << 30, Available: 120000000 << 10},
		GPUs:     []facts.GPU{{Address: "0000:c1:00.0", Vendor: "1002", Device: "1586", Name: "AMD Radeon 8060S (Strix Halo)", Driver: "amdgpu", VRAM: 536870912, GTT: 115964116992, VRAMFree: 436870912, Unified: true, Bandwidth: 256e9, Backends: []string{"vulkan", "rocm"}}},
		NPUs:     []facts.NPU{{Vendor: "1022", Device: "17f0"}},
		Vulkan:   true,
		ROCm:     "gfx1151",
		Managers: []string{"pacman"},
		Programs: map[string]string{"git": "/usr/bin/git"},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}

// Detect knows the program of every runtime in the catalog, and of no list of
// its own.
func TestDetectFindsTheProgramsOfTheCatalog(t *testing.T) {
	root, want := t.TempDir(), map[string]string{}
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, r := range catalog.Runtimes() {
		if r.Command == "" {
			continue
		}
		want[r.Command] = "/bin/" + r.Command
		if err := os.WriteFile(filepath.Join(root, want[r.Command]), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := Detect(context.Background(), Options{Root: root, Kernel: root, Home: "/", Path: []string{"/bin"}})
	if diff := cmp.Diff(want, f.Programs); diff != "" || len(want) < 10 {
		t.Error(diff)
	}
}

func TestDetectUnknownMachine(t *testing.T) {
	f := Detect(context.Background(), Options{Root: t.TempDir(), Kernel: t.TempDir(), Home: "/home/me", Hostname: "x", Path: []string{}})
	if f.CPU.Model != "" || f.Memory.Total != 0 || len(f.GPUs) != 0 || f.Vulkan || f.ROCm != "" {
		t.Errorf("%+v", f)
	}
	if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, "memory: unknown") || !strings.Contains(notes, "processors: unknown") {
		t.Error(notes)
	}
}

var coder = spec.Model{ID: "coder", Quants: []spec.Quant{quant("Q4_K_M", 18_557), quant("Q5_K_M", 21_726), quant("Q6_K", 25_093)}}

func quant(name string, megabytes int64) spec.Quant {
	return spec.Quant{Name: name, Files: []spec.ModelFile{{Size: megabytes * 1_000_000}}}
}

func TestTheQuantizationFitsTheMachine(t *testing.T) {
	memory := func(gib int64) facts.Facts { return facts.Facts{Memory: facts.Memory{Total: gib << 30}} }
	card := func(vram int64) facts.Facts {
		f := memory(64)
		f.GPUs = []facts.GPU{{Driver: "nvidia", VRAM: vram << 30, Backends: []string{"cuda"}}}
		return f
	}
	pearl, _ := Recorded("pearl")
	velox, _ := Recorded("velox")
	tight := pearl
	tight.GPUs = []facts.GPU{{Unified: true, VRAM: 512 << 20, GTT: 24 << 30}}
	for name, c := range map[string]struct {
		f     facts.Facts
		quant string
		fits  bool
		say   string
	}{
		"unified memory takes the best":         {pearl, "Q6_K", true, "the best that fits"},
		"shared memory without bandwidth":       {velox, "Q4_K_M", true, "the quickest good one"},
		"a processor alone":                     {memory(128), "Q4_K_M", true, "the quickest good one"},
		"a card of 32 GiB":                      {card(32), "Q6_K", true, "graphics memory"},
		"a card of 20 GiB":                      {card(20), "Q4_K_M", false, "does not fit"},
		"little is mapped for the graphics":     {tight, "Q5_K_M", true, "unified memory"},
		"a card beside a large mapped memory":   {facts.Facts{Memory: facts.Memory{Total: 128 << 30}, GPUs: []facts.GPU{{Vendor: "1002", Device: "744c", Driver: "amdgpu", VRAM: 24 << 30, GTT: 62 << 30}}, Vulkan: true}, "Q4_K_M", true, "graphics memory"},
		"the firmware gave it all to the unit":  {facts.Facts{Memory: facts.Memory{Total: 31 << 30}, GPUs: []facts.GPU{{Unified: true, VRAM: 96 << 30, GTT: 15 << 30}}, Vulkan: true}, "Q6_K", true, "unified memory"},
		"too little memory":                     {memory(16), "Q4_K_M", false, "does not fit"},
		"unknown memory":                        {facts.Facts{}, "Q4_K_M", false, "unknown"},
		"a card too small for anything is none": {card(2), "Q4_K_M", true, "of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			got := PickQuant(coder, c.f)
			if got.Quant != c.quant || got.Fits != c.fits || !strings.Contains(got.Reason, c.say) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestPickQuantIgnoresFreeMemory(t *testing.T) {
	f, _ := Recorded("pearl")
	full := f
	full.Memory.Available, full.GPUs[0].VRAMFree, full.Disks = 0, 0, nil
	if PickQuant(coder, f) != PickQuant(coder, full) {
		t.Error("the choice moved with the free memory")
	}
}

func TestTheLargestModelThatFitsIsRecommended(t *testing.T) {
	models := []spec.Model{coder, {ID: "next", Quants: []spec.Quant{quant("Q4_K_M", 48_400)}}, {ID: "small", Quants: []spec.Quant{quant("Q4_K_M", 5_030)}}}
	for host, want := range map[string]string{"pearl": "next", "velox": "coder"} {
		f, _ := Recorded(host)
		if m, _, ok := Recommend(models, f); !ok || m.ID != want {
			t.Errorf("%s: %s", host, m.ID)
		}
	}
	f, _ := Recorded("pearl")
	if m, _, ok := Recommend(append(models, spec.Model{ID: "tried", Chat: "chatml", Quants: []spec.Quant{quant("Q4_K_M", 6_000)}}), f); !ok || m.ID != "tried" {
		t.Errorf("%s comes before a model whose prompts are known", m.ID)
	}
	if _, _, ok := Recommend(models, facts.Facts{Memory: facts.Memory{Total: 4 << 30}}); ok {
		t.Error("something was recommended for 4 GiB")
	}
}

func TestReadFactsErrorsHaveLines(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"{\n\"format_version\": 1,\n\"hostnam\": \"x\"}": "facts.json:3: invalid facts: json: unknown field",
		"{\n,":                    "facts.json:2: invalid facts: invalid character",
		"{\"format_version\": 9}": "format_version 9",
	} {
		p := filepath.Join(dir, "facts.json")
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFacts(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func BenchmarkDetect(b *testing.B) {
	for b.Loop() {
		Detect(context.Background(), Options{Home: os.TempDir()})
	}
}
