package graphics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

// query asks nvidia-smi for a line of each unit. See
// https://docs.nvidia.com/deploy/nvidia-smi/.
var query = []string{"nvidia-smi", "--query-gpu=pci.bus_id,name,memory.total,memory.free,driver_version", "--format=csv,noheader,nounits"}

// nvidia adds what NVIDIA's driver and its tool say. The driver gives memory to
// its tool alone, which is asked once for each boot and driver.
func (l Look) nvidia(ctx context.Context, units []facts.GPU) []facts.GPU {
	version := l.NvidiaDriver()
	_, err := os.Stat(l.path("/dev/dxg"))
	guest := err == nil // WSL shows no unit on a bus
	mine := 0
	for i := range units {
		g := &units[i]
		if g.Vendor != nvidia {
			continue
		}
		mine++
		for line := range strings.Lines(l.text("/proc/driver/nvidia/gpus/" + g.Address + "/information")) {
			if name, ok := strings.CutPrefix(line, "Model:"); ok {
				g.Name = strings.TrimSpace(name)
			}
		}
		switch {
		case g.Driver == reserved:
		case version == "" && !guest:
			g.MemoryUnknown = noFigure(*g, "its memory")
		default:
			g.DriverVersion = version
		}
	}
	if version == "" && !guest {
		return units
	}
	rows, why := l.smi(ctx, version, units, guest && mine == 0)
	for _, r := range rows {
		i := slices.IndexFunc(units, func(g facts.GPU) bool { return g.Address == r.Address })
		if i < 0 {
			units = append(units, facts.GPU{Address: r.Address, Vendor: nvidia, Driver: "nvidia"})
			i = len(units) - 1
		}
		g := &units[i]
		g.Name, g.VRAM, g.VRAMFree, g.DriverVersion, g.MemoryUnknown = r.Name, r.VRAM, r.VRAMFree, cmp.Or(version, r.DriverVersion), r.MemoryUnknown
	}
	for i := range units {
		g := &units[i]
		listed := slices.ContainsFunc(rows, func(r facts.GPU) bool { return r.Address == g.Address })
		switch {
		case g.Vendor != nvidia || g.Driver == reserved:
		case onChip(*g):
			g.VRAM, g.VRAMFree, g.GTT, g.MemoryUnknown = 0, 0, l.Memory, "" // the tool has no figure for shared memory
		case why != "":
			g.MemoryUnknown = why
		case !listed:
			g.MemoryUnknown = "nvidia-smi does not list it"
		}
	}
	return units
}

// NvidiaDriver returns the version of NVIDIA's driver, "" where it is not loaded.
func (l Look) NvidiaDriver() string {
	_, rest, ok := strings.Cut(l.text("/proc/driver/nvidia/version"), "Kernel Module ")
	for _, word := range strings.Fields(rest) {
		if ok && word[0] >= '0' && word[0] <= '9' { // the open driver says "for x86_64" before it
			return word
		}
	}
	return ""
}

// smi returns the units that nvidia-smi lists, or why it lists none. optional: it
// says nothing of a tool that is absent.
func (l Look) smi(ctx context.Context, version string, units []facts.GPU, optional bool) ([]facts.GPU, string) {
	if l.Run == nil {
		return nil, "nvidia-smi may not be started here"
	}
	key := []string{version, l.text("/proc/sys/kernel/random/boot_id")}
	for _, g := range units {
		if g.Vendor == nvidia {
			key = append(key, g.Address)
		}
	}
	if rows, err := parseRows(l.cached(key)); err == nil {
		for i := range rows {
			rows[i].VRAMFree = 0 // it was free then
		}
		return rows, ""
	}
	out, err := l.Run(ctx, query...)
	switch {
	case errors.Is(err, exec.ErrNotFound) && optional:
		return nil, ""
	case errors.Is(err, exec.ErrNotFound):
		return nil, "nvidia-smi is not installed; install it (" + l.toolPackage() + ")"
	case errors.Is(err, context.DeadlineExceeded):
		return nil, "nvidia-smi does not answer"
	case err != nil:
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return nil, fmt.Sprintf("nvidia-smi fails: %.160s", cmp.Or(strings.TrimSpace(first), err.Error()))
	}
	rows, err := parseRows(out)
	if err != nil {
		return nil, err.Error()
	}
	if !slices.ContainsFunc(rows, func(g facts.GPU) bool { return g.MemoryUnknown != "" }) {
		l.keep(key, out)
	}
	return rows, ""
}

// parseRows parses what query prints.
func parseRows(out []byte) ([]facts.GPU, error) {
	var rows []facts.GPU
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Split(line, ", ")
		if len(fields) != 5 {
			return nil, fmt.Errorf("nvidia-smi prints something else than was asked for: %.80q", strings.TrimSpace(line))
		}
		g := facts.GPU{Address: busID(fields[0]), Vendor: nvidia, Name: strings.TrimSpace(fields[1]), DriverVersion: strings.TrimSpace(fields[4])}
		mebibytes := func(s string) int64 {
			n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
			if err != nil || n < 0 || n > mostMemory>>20 {
				return 0
			}
			return n << 20
		}
		g.VRAM, g.VRAMFree = mebibytes(fields[2]), mebibytes(fields[3])
		if g.VRAM == 0 {
			g.MemoryUnknown = fmt.Sprintf("nvidia-smi gives %.20q as its memory", strings.TrimSpace(fields[2]))
		}
		if g.VRAMFree > g.VRAM {
			g.VRAMFree = 0
		}
		rows = append(rows, g)
	}
	if len(rows) == 0 {
		return nil, errors.New("nvidia-smi lists no unit")
	}
	return rows, nil
}

// busID is an address as the kernel writes it: nvidia-smi has domains of eight
// digits, in capitals.
func busID(s string) string {
	domain, rest, ok := strings.Cut(strings.ToLower(strings.TrimSpace(s)), ":")
	if !ok || len(domain) < 4 {
		return strings.ToLower(strings.TrimSpace(s))
	}
	return domain[len(domain)-4:] + ":" + rest
}

// toolPackage names the package of nvidia-smi, by distribution. Sources:
// archlinux.org, packages.debian.org, packages.ubuntu.com, rpmfusion.org,
// software.opensuse.org.
func (l Look) toolPackage() string {
	b, _ := os.ReadFile(filepath.Join("/", l.Root, "etc/os-release")) // absent: no distribution is known
	words := strings.NewReplacer("\"", " ", "'", " ", "=", " ", "\n", " ").Replace(string(b))
	for _, p := range []struct{ id, name string }{
		{"ubuntu", "nvidia-utils-NNN, with the driver's NNN"}, {"debian", "nvidia-smi"}, {"arch", "nvidia-utils"},
		{"fedora", "xorg-x11-drv-nvidia-cuda"}, {"suse", "nvidia-compute-utils-G06"},
	} {
		if slices.Contains(strings.Fields(words), p.id) {
			return "package " + p.name
		}
	}
	return "it comes with NVIDIA's driver"
}
