package hosts

import (
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

// computes returns what computes for l: the spec's word, if it has one; else the
// machine's best that the server's build can do. problem says in a sentence what
// keeps a unit idle, or what is asked for and not there; "" for nothing.
func (l Load) computes(f facts.Facts) (backend, problem string) {
	can, want := f.Backends(), l.Backend
	has := func(name string) bool {
		return len(l.Build) == 0 || name == "cpu" || slices.Contains(l.Build, name)
	}
	install := func(name string) string {
		text := ": install one with " + Words([]string{name})
		if l.Remedy != "" {
			text += " (" + l.Remedy + ")"
		}
		return text
	}
	switch {
	case want == "cpu":
		return want, ""
	case want != "" && !has(want):
		return want, fmt.Sprintf("%s is asked for, but this build of llama-server has %s only%s", want, Words(l.Build), install(want))
	case want != "" && !slices.Contains(can, want):
		return want, fmt.Sprintf("%s is asked for, but this machine has %s only%s", want, Words(can), missingDriver(want, f))
	case want != "":
		return want, ""
	}
	for _, name := range can {
		if name == "cpu" || has(name) {
			backend = name
			break
		}
	}
	if card, ok := cardOf(f); backend == "cpu" && ok {
		if can[0] != "cpu" {
			return backend, fmt.Sprintf("this build of llama-server has %s only, so that %s is idle%s", Words(l.Build), card.Label(), install(can[0]))
		}
		return backend, fmt.Sprintf("nothing computes on %s%s", card.Label(), missingDriver("", f))
	}
	return backend, ""
}

// cardOf returns the first unit that is worth computing on.
func cardOf(f facts.Facts) (facts.GPU, bool) {
	i := slices.IndexFunc(f.GPUs, func(g facts.GPU) bool {
		return !g.Integrated && g.Driver != "vfio-pci" && (g.Unified || g.VRAM > smallCard || g.MemoryUnknown != "")
	})
	if i < 0 {
		return facts.GPU{}, false
	}
	return f.GPUs[i], true
}

// missingDriver says what a unit lacks that want, or anything, could compute on.
func missingDriver(want string, f facts.Facts) string {
	g, ok := cardOf(f)
	switch {
	case !ok:
		return ""
	case g.Vendor == "10de" && want != "vulkan" && !slices.Contains(g.Backends, "cuda"):
		return ": install NVIDIA's driver"
	case (want == "vulkan" || want == "") && !slices.Contains(g.Backends, "vulkan"):
		return ": install the Vulkan driver of " + g.Label()
	}
	return ""
}

// Words names backends for people.
func Words(backends []string) string {
	var out []string
	for _, b := range backends {
		switch b {
		case "cpu", "cuda", "sycl":
			b = strings.ToUpper(b)
		case "rocm":
			b = "ROCm"
		case "vulkan", "metal":
			b = strings.ToUpper(b[:1]) + b[1:]
		}
		out = append(out, b)
	}
	if len(out) > 1 && out[len(out)-1] == "CPU" {
		out = out[:len(out)-1]
	}
	return strings.Join(out, ", ")
}
