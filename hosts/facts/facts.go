// Package facts holds the facts of a machine as plain values. It detects
// nothing; package hosts does. Facts can be written to a file, so that a plan
// can be made for another machine. See Facts.
package facts

// FormatVersion is the version of the JSON form of Facts.
const FormatVersion = 1

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
	Vulkan        bool              `json:"vulkan"` // an ICD file is present, which proves nothing
	ROCm          string            `json:"rocm"`   // gfx target, such as gfx1151
	CUDA          string            `json:"cuda"`   // driver version
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
