// Package graphics reads which graphics units a machine has: their names, memory,
// bandwidth, drivers, and what computes on them. It writes nothing but a cache,
// and starts a program only where a driver hides its figures. Call Look.Units.
package graphics

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

// Look is a machine to read.
type Look struct {
	Kernel string // prefix of /proc, /sys and /dev; "" is /
	Root   string // prefix of /etc and /usr; "" is /
	OS     string // as GOOS
	Memory int64  // bytes of main memory; 0: unknown
	Run    Run    // starts a program; nil: none may be started
	Cache  string // file that keeps answers of programs for one boot; "": none
}

// vendors of units that can compute.
const (
	nvidia = "10de"
	amd    = "1002"
	intel  = "8086"
	apple  = "106b"
)

// Units returns the graphics units by address. A unit that may compute and whose
// memory cannot be read has MemoryUnknown; it is never left out.
func (l Look) Units(ctx context.Context) []facts.GPU {
	if l.OS == "darwin" {
		return l.apple(ctx)
	}
	units := l.devices()
	for i := range units {
		g := &units[i]
		switch g.Vendor {
		case amd:
			l.amd(g)
		case intel:
			l.intel(g)
		}
	}
	units = l.nvidia(ctx, units)
	sort.SliceStable(units, func(i, j int) bool { return units[i].Address < units[j].Address })
	for i := range units {
		if known(&units[i]); units[i].Name == "" {
			units[i].Name = l.listed(units[i])
		}
		units[i].Backends = l.backends(units[i])
	}
	return units
}

// reserved is the driver of units that belong to a virtual machine.
const reserved = "vfio-pci"

// card matches the folder of a unit, and not a connector such as card1-HDMI-A-1.
var card = regexp.MustCompile(`/card\d+$`)

// devices returns what the kernel lists: units with a graphics driver, then
// display controllers of the PCI bus that have none.
func (l Look) devices() []facts.GPU {
	var units []facts.GPU
	add := func(device string) {
		g := facts.GPU{
			Vendor: hex4(l.text(device + "/vendor")), Device: hex4(l.text(device + "/device")),
			Driver: l.link(device + "/driver"), Address: l.link(device),
		}
		if g.Address == "" {
			g.Address = filepath.Base(device)
		}
		same := func(o facts.GPU) bool { return o.Address == g.Address }
		if g.Vendor != "" && !slices.ContainsFunc(units, same) { // a virtual unit has no vendor
			units = append(units, g)
		}
	}
	for _, c := range l.glob("/sys/class/drm/card[0-9]*") {
		if card.MatchString(c) {
			add(c + "/device")
		}
	}
	for _, d := range l.glob("/sys/bus/pci/devices/*") {
		if strings.HasPrefix(l.text(d+"/class"), "0x03") {
			add(d)
		}
	}
	return units
}

// amd reads amdgpu's figures.
func (l Look) amd(g *facts.GPU) {
	device := l.device(*g)
	g.Name = l.text(device + "/product_name")
	g.VRAM, g.GTT = l.size(device+"/mem_info_vram_total"), l.size(device+"/mem_info_gtt_total")
	if used := l.size(device + "/mem_info_vram_used"); g.VRAM > used {
		g.VRAMFree = g.VRAM - used
	}
	if g.VRAM == 0 && g.Driver != reserved {
		g.MemoryUnknown = noFigure(*g, "mem_info_vram_total")
	}
}

// intel reads the figures of xe and i915. A unit of the processor, at 00:02.0, has
// no memory.
func (l Look) intel(g *facts.GPU) {
	if strings.HasSuffix(g.Address, ":00:02.0") {
		g.Integrated = true
		return
	}
	device := l.device(*g)
	for _, tile := range l.glob(device + "/tile[0-9]*/physical_vram_size_bytes") {
		g.VRAM += l.size(tile)
	}
	if g.VRAM == 0 {
		for _, c := range l.glob(device + "/drm/card[0-9]*/lmem_total_bytes") {
			g.VRAM = l.size(c)
		}
	}
	if g.VRAM == 0 && g.Driver != reserved {
		g.MemoryUnknown = noFigure(*g, "its size")
	}
}

// noFigure says why a driver's figure is missing.
func noFigure(g facts.GPU, figure string) string {
	if g.Driver == "" {
		return "no driver is loaded for it"
	}
	return "its driver " + g.Driver + " does not give " + figure
}

// backends returns what may compute on a unit, the best first: a driver of the
// kernel and its library must both be there.
func (l Look) backends(g facts.GPU) []string {
	var out []string
	vulkan := func(names ...string) {
		for _, dir := range []string{"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"} {
			for _, name := range names {
				if found, _ := filepath.Glob(filepath.Join("/", l.Root, dir, name+"*.json")); len(found) > 0 && !slices.Contains(out, "vulkan") {
					out = append(out, "vulkan")
				}
			}
		}
	}
	switch {
	case g.Driver == reserved:
	case g.Vendor == nvidia && (g.Driver == "nvidia" || g.DriverVersion != ""):
		out = append(out, "cuda")
		vulkan("nvidia")
	case g.Vendor == nvidia:
		vulkan("nouveau")
	case g.Vendor == amd:
		vulkan("radeon", "amd")
		if l.Gfx() != "" && g.Driver == "amdgpu" {
			out = append(out, "rocm")
		}
	case g.Vendor == intel:
		vulkan("intel")
		if found, _ := filepath.Glob(filepath.Join("/", l.Root, "/usr/lib*", "libze_intel_gpu.so*")); len(found) > 0 {
			out = append(out, "sycl")
		} else if found, _ := filepath.Glob(filepath.Join("/", l.Root, "/usr/lib/*", "libze_intel_gpu.so*")); len(found) > 0 {
			out = append(out, "sycl")
		}
	}
	return out
}

// Gfx returns the graphics target of the kernel's compute driver for AMD, such as
// gfx1151 for the gfx_target_version 110501; "" without one.
func (l Look) Gfx() string {
	if _, err := os.Stat(l.path("/dev/kfd")); err != nil {
		return ""
	}
	for _, n := range l.glob("/sys/class/kfd/kfd/topology/nodes/*/properties") {
		for line := range strings.Lines(l.text(n)) {
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

// device is the folder of a unit below /sys.
func (l Look) device(g facts.GPU) string {
	for _, c := range l.glob("/sys/class/drm/card[0-9]*") {
		if card.MatchString(c) && l.link(c+"/device") == g.Address {
			return c + "/device"
		}
	}
	return "/sys/bus/pci/devices/" + g.Address
}

func (l Look) path(p string) string { return filepath.Join("/", l.Kernel, p) }

// glob returns the matches below Kernel, without it.
func (l Look) glob(pattern string) []string {
	found, _ := filepath.Glob(l.path(pattern))
	for i, f := range found {
		found[i] = strings.TrimPrefix(f, strings.TrimSuffix(l.path("/"), "/"))
	}
	return found
}

// text returns the trimmed content of a small file, "" if it is unreadable.
func (l Look) text(p string) string {
	b, err := os.ReadFile(l.path(p))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// mostMemory is more than any unit has: a larger figure is an error of its source.
const mostMemory = int64(4) << 40

// size reads a number of bytes; 0 if there is none that can be true.
func (l Look) size(p string) int64 {
	n, err := strconv.ParseInt(l.text(p), 10, 64)
	if err != nil || n < 0 || n > mostMemory {
		return 0
	}
	return n
}

// link returns the last element of a link's target.
func (l Look) link(p string) string {
	target, err := os.Readlink(l.path(p))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

func hex4(s string) string { return strings.ToLower(strings.TrimPrefix(s, "0x")) }
