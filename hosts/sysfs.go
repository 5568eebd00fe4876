package hosts

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/hosts/graphics"
)

// memory reads the kernel's figures. Physical memory is the sum of the memory
// blocks: ghw returns the same but takes ten times as long. On macOS sysctl says
// it.
func (m machine) memory(ctx context.Context, f *facts.Facts, run graphics.Run) []string {
	if f.OS == "darwin" && run != nil {
		out, err := run(ctx, "sysctl", "-n", "hw.memsize")
		if n, wrong := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err == nil && wrong == nil && n > 0 {
			f.Memory.Total, f.Memory.Physical = n, n
			return nil
		}
		return []string{"memory: unknown: sysctl does not give hw.memsize"}
	}
	for line := range strings.Lines(m.text("/proc/meminfo")) {
		name, rest, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "MemTotal":
			f.Memory.Total = kib << 10
		case "MemAvailable":
			f.Memory.Available = kib << 10
		}
	}
	if size, err := strconv.ParseInt(m.text("/sys/devices/system/memory/block_size_bytes"), 16, 64); err == nil {
		blocks, _ := filepath.Glob(m.path("/sys/devices/system/memory/memory[0-9]*"))
		f.Memory.Physical = size * int64(len(blocks))
	}
	if f.Memory.Total == 0 {
		return []string{"memory: unknown: /proc/meminfo is unreadable"}
	}
	return nil
}

// graphics reads the graphics units and accelerators, after the memory, which some
// units share.
func (m machine) graphics(ctx context.Context, f *facts.Facts, o Options) {
	look := graphics.Look{Kernel: m.root, Root: o.Root, OS: f.OS, Memory: f.Memory.Total, Run: o.Run, Cache: o.Cache}
	f.GPUs = look.Units(ctx)
	f.ROCm, f.CUDA = look.Gfx(), look.NvidiaDriver()
	accelerators, _ := filepath.Glob(m.path("/sys/class/accel/accel[0-9]*"))
	for _, a := range accelerators {
		device := strings.TrimPrefix(a, strings.TrimSuffix(m.path("/"), "/")) + "/device"
		f.NPUs = append(f.NPUs, facts.NPU{Vendor: hex4(m.text(device + "/vendor")), Device: hex4(m.text(device + "/device"))})
	}
}

// vulkan reports whether a driver for it is installed.
func (m machine) vulkan() bool {
	for _, dir := range []string{"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"} {
		if icds, _ := filepath.Glob(m.path(dir + "/*.json")); len(icds) > 0 {
			return true
		}
	}
	return false
}

func hex4(s string) string { return strings.TrimPrefix(s, "0x") }
