package hosts

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

// memory reads the kernel's figures. Physical memory is the sum of the memory
// blocks: ghw returns the same but takes ten times as long.
func (m machine) memory(f *facts.Facts) []string {
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

// names are graphics units that current pci.ids files lack, or that have a
// better-known name.
var names = map[string]string{
	"1002:1586": "AMD Radeon 8060S (Strix Halo)",
	"8086:a7a0": "Intel Iris Xe (Raptor Lake-P)",
}

// unified lists the units that read the machine's memory as fast as a card reads
// its memory. Sizes do not show it: half of the memory is also mapped for
// separate cards, and most units without memory are no faster than the
// processor.
var unified = map[string]bool{
	"1002:1586": true, // Strix Halo: 256 bits wide
}

// graphics reads the drivers' figures; ghw would need a pci.ids file and knows
// neither memory sizes nor accelerators' drivers.
func (m machine) graphics(f *facts.Facts) []string {
	cards, _ := filepath.Glob(m.path("/sys/class/drm/card[0-9]*"))
	card := regexp.MustCompile(`/card\d+$`)
	for _, c := range cards {
		if !card.MatchString(c) {
			continue // a connector, such as card1-HDMI-A-1
		}
		device := strings.TrimPrefix(c, strings.TrimSuffix(m.path("/"), "/")) + "/device"
		g := facts.GPU{
			Vendor: hex4(m.text(device + "/vendor")), Device: hex4(m.text(device + "/device")), Driver: m.link(device + "/driver"), Address: m.link(device),
			VRAM: m.number(device + "/mem_info_vram_total"), GTT: m.number(device + "/mem_info_gtt_total"),
		}
		if g.Vendor == "" {
			continue // a virtual unit
		}
		if used := m.number(device + "/mem_info_vram_used"); g.VRAM > 0 {
			g.VRAMFree = g.VRAM - used
		}
		g.Name = names[g.Vendor+":"+g.Device]
		g.Unified = unified[g.Vendor+":"+g.Device]
		f.GPUs = append(f.GPUs, g)
	}
	f.ROCm = m.rocm()
	if _, rest, ok := strings.Cut(m.text("/proc/driver/nvidia/version"), "Kernel Module "); ok {
		f.CUDA, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	accelerators, _ := filepath.Glob(m.path("/sys/class/accel/accel[0-9]*"))
	for _, a := range accelerators {
		device := strings.TrimPrefix(a, strings.TrimSuffix(m.path("/"), "/")) + "/device"
		f.NPUs = append(f.NPUs, facts.NPU{Vendor: hex4(m.text(device + "/vendor")), Device: hex4(m.text(device + "/device"))})
	}
	return nil
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

// rocm returns the graphics target of the kernel's compute driver, such as
// gfx1151 for the gfx_target_version 110501.
func (m machine) rocm() string {
	if _, err := os.Stat(m.path("/dev/kfd")); err != nil {
		return ""
	}
	nodes, _ := filepath.Glob(m.path("/sys/class/kfd/kfd/topology/nodes/*/properties"))
	for _, n := range nodes {
		b, err := os.ReadFile(n)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			fields := strings.Fields(line)
			if len(fields) != 2 || fields[0] != "gfx_target_version" {
				continue
			}
			if v, err := strconv.Atoi(fields[1]); err == nil && v > 0 {
				return "gfx" + strconv.Itoa(v/10000) + strconv.FormatInt(int64(v/100%100), 16) + strconv.FormatInt(int64(v%100), 16)
			}
		}
	}
	return ""
}

func (m machine) number(p string) int64 {
	n, _ := strconv.ParseInt(m.text(p), 10, 64) // unknown if the driver has none
	return n
}

// link returns the last element of a link's target.
func (m machine) link(p string) string {
	target, err := os.Readlink(m.path(p))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

func hex4(s string) string { return strings.TrimPrefix(s, "0x") }
