package doctor

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/hosts/graphics"
)

// checkDevices asks the installed llama-server on what it can compute, where v
// places a model on a graphics unit. It says nothing of a program that is absent,
// and of a machine that is not this one.
func (e *Env) checkDevices(ctx context.Context, v hosts.Verdict, loads []hosts.Load, f facts.Facts) []Finding {
	program := f.Programs["llama-server"]
	if e.places.Root != "" || e.machine.FactsFile != "" || program == "" {
		return nil
	}
	for i, n := range v.Loads {
		if n.GPULayers == 0 || n.Backend == "cpu" || loads[i].Remedy == "" {
			continue
		}
		run := graphics.Programs([]string{filepath.Dir(program)}, e.machine.Env.List())
		out, err := run(ctx, filepath.Base(program), "--list-devices")
		if text := devicesText(string(out), err, n.Backend); text != "" {
			fix := "install a build with " + hosts.Words([]string{n.Backend}) + ": " + loads[i].Remedy
			return []Finding{warn(fix, "service %s: %s", n.Name, text)}
		}
		return nil
	}
	return nil
}

// devicesText says what is wrong with the devices that llama-server lists; "" for
// nothing. They are lines below "Available devices:", as
// "  CUDA0: NVIDIA GeForce RTX 4090 (24080 MiB, 23600 MiB free)". Versions before
// this option fail, which says nothing of devices.
func devicesText(out string, err error, backend string) string {
	_, list, there := strings.Cut(out, "Available devices:\n")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "llama-server --list-devices does not answer: the driver of the graphics unit may hang"
	case err != nil || !there:
		return ""
	}
	var names []string
	for line := range strings.Lines(list) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || !strings.HasPrefix(line, "  ") {
			continue
		}
		// Metal calls its device MTL0 in newer versions.
		if kind := strings.ToLower(name); strings.HasPrefix(kind, backend) || backend == "metal" && strings.HasPrefix(kind, "mtl") {
			return ""
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "llama-server lists no graphics unit, and computes on the processor alone"
	}
	return "llama-server lists " + strings.Join(names, ", ") + ", and nothing for " + hosts.Words([]string{backend})
}
