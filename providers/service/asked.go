package service

import (
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

// Asked is what the spec of a service says of where its models lie: its fields,
// and then its arguments, which llama-server reads after them.
type Asked struct {
	GPULayers   *int // ServerDecides: llama-server looks for itself
	CPUExperts  *int // layers
	Keys        string
	Values      string
	PromptCache *int64 // bytes
	Checkpoints *int64 // of a conversation
	Batch       int64  // tokens computed at once; 0: llama-server's default
	Split       bool   // over cards, or devices are named
}

// ServerDecides is the number of layers where llama-server looks for itself what
// fits.
const ServerDecides = -1

// every is more layers than any model has.
const every = 999

// AskedOf returns what s asks for. For the names of arguments see
// https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
func AskedOf(s spec.Service) Asked {
	a := Asked{GPULayers: s.GPULayers}
	for i, arg := range s.Args {
		value := ""
		if i+1 < len(s.Args) {
			value = s.Args[i+1]
		}
		n, err := strconv.Atoi(value)
		switch arg {
		case "-ngl", "--gpu-layers", "--n-gpu-layers":
			switch {
			case value == "all":
				a.GPULayers = new(every)
			case err != nil || n < 0:
				a.GPULayers = new(ServerDecides)
			default:
				a.GPULayers = &n
			}
		case "-cmoe", "--cpu-moe":
			a.CPUExperts = new(every)
		case "-ncmoe", "--n-cpu-moe":
			if err == nil {
				a.CPUExperts = &n
			}
		case "-ctk", "--cache-type-k":
			a.Keys = value
		case "-ctv", "--cache-type-v":
			a.Values = value
		case "-cram", "--cache-ram":
			if err == nil {
				a.PromptCache = new(max(0, int64(n)) << 20)
			}
		case "-ctxcp", "--ctx-checkpoints", "--swa-checkpoints":
			if err == nil {
				a.Checkpoints = new(max(0, int64(n)))
			}
		case "-ub", "--ubatch-size":
			a.Batch = int64(max(0, n))
		case "-ts", "--tensor-split", "-dev", "--device", "-ot", "--override-tensor":
			a.Split = true
		}
	}
	return a
}

// Offload is where a model of a service lies while it is served.
type Offload struct {
	Backend    string
	GPULayers  int64   // ServerDecides: llama-server looks for itself
	CPUExperts int64   // layers whose experts stay in main memory
	Split      []int64 // of unequal cards
	Prompts    int64   // bytes of old conversations that the server may keep

	Checkpoints int64 // of a conversation that the server may keep; 0: the model needs none
}

// arguments returns those of llama-server that the spec does not have itself.
func (o Offload) arguments(a Asked) []string {
	var out []string
	if a.GPULayers != nil {
		o.GPULayers = int64(*a.GPULayers)
	}
	if o.GPULayers != ServerDecides {
		out = append(out, "--n-gpu-layers", strconv.FormatInt(o.GPULayers, 10))
	}
	if o.GPULayers == 0 {
		return out
	}
	if a.CPUExperts == nil && o.CPUExperts > 0 {
		out = append(out, "--n-cpu-moe", strconv.FormatInt(o.CPUExperts, 10))
	}
	if len(o.Split) > 1 && !a.Split {
		text := ""
		for i, n := range o.Split {
			if i > 0 {
				text += ","
			}
			text += strconv.FormatInt(n, 10)
		}
		out = append(out, "--tensor-split", text)
	}
	return out
}

// Build returns what the llama-server of s can compute on, "cpu" last: of the
// package that the spec installs, else of the program that is here. It returns
// nothing where that is unknown, and for other servers.
func Build(s spec.Service, f *facts.Facts) []string {
	if f == nil || !slices.Contains(programs[s.Kind], "llama-server") {
		return nil
	}
	var names map[string]string
	want := backend(s, f)
	switch {
	case f.Programs["llama-server"] != "" && (s.Install == nil || s.Install.Via != viaRelease):
		return f.LlamaServer
	case s.Install == nil || s.Install.URL != "" || f.OS == "darwin":
		return nil
	case s.Install.Via == viaRelease:
		names = releases["llama-server"][platform(f)]
	default:
		names = channels["llama-server"][s.Install.Via]
	}
	if names[want] != "" && want != "cpu" {
		return []string{want, "cpu"}
	}
	return []string{"cpu"}
}

// debianBackends are Debian's libraries for a backend, which its llama.cpp loads
// once they are there: packages.debian.org.
var debianBackends = map[string]string{"vulkan": "libggml0-backend-vulkan", "rocm": "libggml0-backend-hip"}

// Remedy says, as a clause, how to get a llama-server that computes with want on
// this machine.
func Remedy(want string, f *facts.Facts) string {
	var ways []string
	if name := debianBackends[want]; name != "" && slices.Contains(f.Managers, "apt-get") {
		ways = append(ways, "apt-get install "+name+" beside Debian's llama.cpp")
	}
	for _, via := range []string{"aur", "pacman"} {
		if name := channels["llama-server"][via][want]; name != "" && slices.Contains(f.Managers, "pacman") && (via == "aur") == (f.Distro == "arch") {
			ways = append(ways, "install: {via: \""+via+"\"}, which is "+name)
		}
	}
	if releases["llama-server"][platform(f)][want] != "" {
		ways = append(ways, "backend: \""+want+"\", install: {via: \"release\", version: \"…\"}")
	}
	switch {
	case len(ways) > 0:
		return strings.Join(ways, "; or ")
	case want != "vulkan" && slices.Contains(f.Backends(), "vulkan"):
		return "or with Vulkan: " + Remedy("vulkan", f)
	}
	return "https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md"
}
