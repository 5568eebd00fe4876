package service

import (
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// What the spec says of layers wins: its arguments over its field, and both over
// what fits.
func TestTheSpecDecidesWhereModelsLie(t *testing.T) {
	fits := Offload{GPULayers: 20, CPUExperts: 5, Split: []int64{11, 22}, Prompts: 1 << 30}
	seven := 7
	for name, c := range map[string]struct {
		layers *int
		args   []string
		want   string // the arguments that aisync adds
		cache  string // LLAMA_ARG_CACHE_RAM
	}{
		"the spec names nothing":   {nil, nil, "--n-gpu-layers 20 --n-cpu-moe 5 --tensor-split 11,22", "1024"},
		"layers":                   {&seven, nil, "--n-gpu-layers 7 --n-cpu-moe 5 --tensor-split 11,22", "1024"},
		"no layers":                {new(0), nil, "--n-gpu-layers 0", "1024"},
		"layers as an argument":    {&seven, []string{"-ngl", "9"}, "--n-gpu-layers 9 --n-cpu-moe 5 --tensor-split 11,22", "1024"},
		"left to the server":       {nil, []string{"--gpu-layers", "auto"}, "--n-cpu-moe 5 --tensor-split 11,22", "1024"},
		"experts as an argument":   {nil, []string{"--cpu-moe"}, "--n-gpu-layers 20 --tensor-split 11,22", "1024"},
		"a split, and a cache":     {nil, []string{"-ts", "1,1", "--cache-ram", "0"}, "--n-gpu-layers 20 --n-cpu-moe 5", ""},
		"an argument without more": {nil, []string{"-ncmoe"}, "--n-gpu-layers 20 --n-cpu-moe 5 --tensor-split 11,22", "1024"},
	} {
		h := reference()
		h.Offload = func(spec.Service, string) Offload { return fits }
		s := spec.Service{Name: "x", Kind: "llama-server", Model: "coder", Port: 1, GPULayers: c.layers, Args: c.args}
		got := h.command(s, "/bin/llama-server", []served{{id: "coder", file: "/m"}}, "")
		line := strings.Join(got.argv, " ")
		if !strings.Contains(line, " --ctx-size 0 "+c.want+" --jinja") || got.env["LLAMA_ARG_CACHE_RAM"] != c.cache || got.env["CUDA_DEVICE_ORDER"] != "PCI_BUS_ID" {
			t.Errorf("%s: %s %v", name, line, got.env)
		}
	}
}

// Checkpoints are bounded where the model needs some and the spec says nothing.
func TestCheckpointsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		fits int64
		args []string
		want string
	}{
		"a model with windows": {7, nil, "7"},
		"none needed":          {0, nil, ""},
		"the spec's own":       {7, []string{"--ctx-checkpoints", "2"}, ""},
	} {
		h := reference()
		h.Offload = func(spec.Service, string) Offload { return Offload{Checkpoints: c.fits} }
		s := spec.Service{Name: "x", Kind: "llama-server", Model: "coder", Port: 1, Args: c.args}
		if got := h.command(s, "/bin/llama-server", []served{{id: "coder", file: "/m"}}, ""); got.env["LLAMA_ARG_CTX_CHECKPOINTS"] != c.want {
			t.Errorf("%s: %v", name, got.env)
		}
	}
}

func TestAskedReadsEveryForm(t *testing.T) {
	a := AskedOf(spec.Service{Args: []string{"-ngl", "all", "-ncmoe", "3", "-ctk", "q8_0", "-ctv", "q4_0", "-cram", "512", "-ctxcp", "3"}})
	if *a.GPULayers != every || *a.CPUExperts != 3 || a.Keys != "q8_0" || a.Values != "q4_0" || *a.PromptCache != 512<<20 || *a.Checkpoints != 3 || a.Split {
		t.Errorf("%+v", a)
	}
	if a := AskedOf(spec.Service{Args: []string{"-ngl", "auto"}}); *a.GPULayers != ServerDecides {
		t.Errorf("%+v", a)
	}
}

// The build is that of the package which the spec installs, else of the program
// that is here.
func TestBuildIsOfThePackageOrTheProgram(t *testing.T) {
	card := facts.Facts{OS: "linux", Arch: "amd64", GPUs: []facts.GPU{{Backends: []string{"cuda", "vulkan"}}}}
	here := card
	here.Programs, here.LlamaServer = map[string]string{"llama-server": "/usr/bin/llama-server"}, []string{"vulkan", "cpu"}
	for name, c := range map[string]struct {
		s    spec.Service
		f    facts.Facts
		want []string
	}{
		"the program":          {spec.Service{Kind: "llama-server"}, here, []string{"vulkan", "cpu"}},
		"nothing":              {spec.Service{Kind: "llama-server"}, card, nil},
		"another server":       {spec.Service{Kind: "ollama"}, here, nil},
		"Arch":                 {spec.Service{Kind: "llama-server", Install: &spec.Install{Via: "aur"}}, card, []string{"cuda", "cpu"}},
		"Debian":               {spec.Service{Kind: "llama-server", Install: &spec.Install{Via: "apt"}}, card, []string{"cpu"}},
		"a release":            {spec.Service{Kind: "llama-server", Install: &spec.Install{Via: "release", Version: "b1"}}, here, []string{"cpu"}},
		"a release for Vulkan": {spec.Service{Kind: "llama-server", Backend: "vulkan", Install: &spec.Install{Via: "release", Version: "b1"}}, here, []string{"vulkan", "cpu"}},
		"a release elsewhere":  {spec.Service{Kind: "llama-server", Install: &spec.Install{Via: "release", URL: "https://example.org/x.zip"}}, here, nil},
	} {
		if got := Build(c.s, &c.f); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRemedyIsForTheMachine(t *testing.T) {
	debian := facts.Facts{OS: "linux", Arch: "amd64", Distro: "debian", Managers: []string{"apt-get"}, GPUs: []facts.GPU{{Backends: []string{"cuda", "vulkan"}}}}
	arch := facts.Facts{OS: "linux", Arch: "amd64", Distro: "arch", Managers: []string{"pacman"}}
	spark := facts.Facts{OS: "linux", Arch: "riscv64"}
	for _, c := range []struct {
		want string
		f    facts.Facts
		says string
	}{
		{"vulkan", debian, `apt-get install libggml0-backend-vulkan beside Debian's llama.cpp; or backend: "vulkan", install: {via: "release", version: "…"}`},
		{"cuda", debian, "or with Vulkan: apt-get install libggml0-backend-vulkan"},
		{"cuda", arch, `install: {via: "aur"}, which is llama.cpp-cuda`},
		{"cuda", spark, "https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md"},
	} {
		if got := Remedy(c.want, &c.f); !strings.HasPrefix(got, c.says) {
			t.Errorf("%s: %s", c.want, got)
		}
	}
}
