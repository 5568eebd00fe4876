package graphics

import (
	"context"
	"strconv"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

const gib = int64(1) << 30

// apple reads the unit of an Apple machine, which shares the machine's memory. An
// Intel machine's units have no driver that llama.cpp is quick with.
func (l Look) apple(ctx context.Context) []facts.GPU {
	if l.Run == nil {
		return nil
	}
	out, err := l.Run(ctx, "system_profiler", "SPDisplaysDataType")
	if err != nil {
		return nil
	}
	var units []facts.GPU
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case key == "Chipset Model":
			g := facts.GPU{Address: "builtin", Vendor: apple, Name: value, Driver: "metal", Backends: []string{"metal"}, Unified: true, GTT: l.wired(ctx)}
			if !strings.HasPrefix(value, "Apple ") {
				g = facts.GPU{Address: "builtin", Name: value, Integrated: true}
			}
			if g.Unified && g.GTT == 0 {
				g.MemoryUnknown = "sysctl does not give hw.memsize"
			}
			known(&g)
			units = append(units, g)
		case key == "Total Number of Cores" && len(units) > 0:
			cores, _ := strconv.Atoi(value)
			units[len(units)-1].Bandwidth = narrower(units[len(units)-1], cores)
		}
	}
	return units
}

// wired returns how much memory Metal lets graphics use: what the person set, else
// two thirds, and three quarters above 36 GiB. llama.cpp prints it as
// recommendedMaxWorkingSetSize; 11453 MB of 16 GiB in
// https://github.com/ggml-org/llama.cpp/issues/11083.
func (l Look) wired(ctx context.Context) int64 {
	if out, err := l.Run(ctx, "sysctl", "-n", "iogpu.wired_limit_mb"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err == nil && n > 0 && n < mostMemory>>20 {
			return n << 20
		}
	}
	if l.Memory > 36*gib {
		return l.Memory / 4 * 3
	}
	return l.Memory / 3 * 2
}

// narrower is the bandwidth of a unit by its number of cores: the smaller Max
// chips have less. Source: apple.com's technical specifications.
func narrower(g facts.GPU, cores int) int64 {
	for _, c := range []struct {
		name  string
		cores int
		giga  int64
	}{{"Apple M3 Max", 30, 300}, {"Apple M4 Max", 32, 410}, {"Apple M5 Max", 32, 460}} {
		if g.Name == c.name && cores == c.cores {
			return c.giga * giga
		}
	}
	return g.Bandwidth
}
