// Package facts holds the facts of a machine as plain values. It detects
// nothing; package hosts does. Facts can be written to a file, so that a plan
// can be made for another machine. See Facts.
package facts

import (
	"slices"
	"strings"
)

// FormatVersion is the version of the JSON form of Facts. 2 tells bandwidth,
// backends and unknown memory of graphics units.
const FormatVersion = 2

// Bytes is a size in bytes; 0 is unknown.
type Bytes = int64

// Facts describe one machine at one time. Empty strings and zero sizes are
// unknown; Notes may hold the reason.
type Facts struct {
	FormatVersion int               `json:"format_version"`
	Hostname      string            `json:"hostname"`
	OS            string            `json:"os"`     // GOOS
	Arch          string            `json:"arch"`   // GOARCH
	Distro        string            `json:"distro"` // ID of os-release
	Product       string            `json:"product"`
	CPU           CPU               `json:"cpu"`
	Memory        Memory            `json:"memory"`
	GPUs          []GPU             `json:"gpus"`
	NPUs          []NPU             `json:"npus"`
	Vulkan        bool              `json:"vulkan"`                          // an ICD file is present, which proves nothing
	ROCm          string            `json:"rocm"`                            // gfx target, such as gfx1151
	CUDA          string            `json:"cuda"`                            // driver version
	LlamaServer   []string          `json:"llama_server_backends,omitempty"` // what the llama-server in PATH can compute on beside the processor, "cpu" for nothing; empty: unknown
	Disks         []Disk            `json:"disks"`
	Managers      []string          `json:"managers"`           // package managers found in PATH
	Programs      map[string]string `json:"programs"`           // program name to its path in PATH
	Versions      map[string]string `json:"versions,omitempty"` // of programs and managers, by name; only where requested
	Notes         []string          `json:"notes"`
}

// CPU describes all processors together.
type CPU struct {
	Model   string   `json:"model"`
	Cores   int      `json:"cores"`
	Threads int      `json:"threads"`
	Flags   []string `json:"flags"` // only those that matter to inference: avx2, avx512f, avx512_vnni …
}

// Memory of the machine, in bytes.
type Memory struct {
	Total     Bytes `json:"total"` // usable by the kernel
	Physical  Bytes `json:"physical"`
	Available Bytes `json:"available"` // now; never used for a lasting decision
}

// GPU is one graphics unit.
type GPU struct {
	Address  string `json:"address"` // PCI
	Vendor   string `json:"vendor"`  // 4 hex digits
	Device   string `json:"device"`  // 4 hex digits
	Name     string `json:"name"`
	Driver   string `json:"driver"`
	VRAM     Bytes  `json:"vram"`
	GTT      Bytes  `json:"gtt"`
	VRAMFree Bytes  `json:"vram_free"`
	Unified  bool   `json:"unified"` // uses the machine's memory at full bandwidth

	DriverVersion string   `json:"driver_version,omitempty"`
	Bandwidth     Bytes    `json:"bandwidth,omitempty"`      // of its memory, bytes a second
	Integrated    bool     `json:"integrated,omitempty"`     // its memory is the processor's, and no faster for it
	Backends      []string `json:"backends,omitempty"`       // what may compute on it: "cuda", "vulkan", "rocm", "sycl", "metal"
	MemoryUnknown string   `json:"memory_unknown,omitempty"` // why its memory cannot be read, as a clause; "" where VRAM, GTT and Integrated say all
}

// Label returns the name of g for people: its name, or its ids.
func (g GPU) Label() string {
	if g.Name == "" {
		return g.Vendor + ":" + g.Device
	}
	return g.Name
}

// Unread returns a sentence on each unit that may compute and whose memory cannot
// be read: which, why, and what helps. What is unknown is not none.
func (f Facts) Unread() []string {
	var out []string
	for _, g := range f.GPUs {
		if g.MemoryUnknown != "" {
			out = append(out, "the memory of "+g.Label()+" ("+g.Address+") cannot be read: "+strings.TrimRight(g.MemoryUnknown, ".")+"; or give it in the host's spec: gpu: {memoryGiB: N}")
		}
	}
	return out
}

// NPU is one neural accelerator.
type NPU struct {
	Vendor string `json:"vendor"`
	Device string `json:"device"`
}

// Disk is one mounted file system that aisync may write to.
type Disk struct {
	Path string `json:"path"` // a folder on it: home, store
	Free Bytes  `json:"free"`
	Size Bytes  `json:"size"`
}

// preferred are the backends, the best first. Vulkan comes before ROCm: its driver
// is part of every desktop, while ROCm is heavy and supports few units.
var preferred = []string{"cuda", "metal", "vulkan", "rocm", "sycl"}

// Backends returns what may compute on this machine, the best first and "cpu"
// last. Units with memory of their own come before those of the processor.
func (f Facts) Backends() []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, integrated := range []bool{false, true} {
		for _, name := range preferred {
			for _, g := range f.GPUs {
				if g.Integrated == integrated && slices.Contains(g.Backends, name) {
					add(name)
				}
			}
		}
	}
	if len(out) == 0 && len(f.GPUs) > 0 { // facts that were written before units had backends
		for _, old := range []struct {
			name  string
			there bool
		}{{"cuda", f.CUDA != ""}, {"vulkan", f.Vulkan}, {"rocm", f.ROCm != ""}} {
			if old.there {
				add(old.name)
			}
		}
	}
	add("cpu")
	return out
}
