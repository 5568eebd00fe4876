// Package start provides the commands before the first apply: init, import, validate
// and facts.
package start

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// FactsCommand builds the command facts.
func FactsCommand(a *cli.App) *cobra.Command {
	var versions bool
	cmd := &cobra.Command{
		Use:   "facts",
		Short: "print this machine's processor, memory, GPU, disks and programs",
		Long: `Prints the facts of this machine on which plans depend. --facts FILE reads the
output of --json, to plan for another machine. It connects to nothing, and starts
only programs that know what the kernel hides: nvidia-smi where NVIDIA's driver
is loaded, once a boot; sysctl and system_profiler on macOS. --versions starts
each program to ask for its version, which no other command needs.`,
		Example:     "  $ aisync facts --versions\n  $ aisync facts --json > laptop.json\n  $ aisync plan --facts laptop.json",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.HostPlaces()
			if err != nil {
				return err
			}
			f, err := a.Machine(p).Facts()
			if err != nil {
				return err
			}
			if versions && p.Root == "" && a.Flags.Facts == "" { // never start programs of another root or machine
				f.Versions = hosts.Versions(cmd.Context(), f, filepath.SplitList(a.Env.Get("PATH")), a.Env.List())
			}
			if a.Flags.JSON {
				return a.WriteJSON(f)
			}
			for _, l := range factLines(f) {
				a.Printf("%-10s %s\n", l[0], termtext.Safe(l[1]))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&versions, "versions", false, "start each program and package manager once to print its version")
	return cmd
}

// factLines returns the table of facts: names and values, or "unknown".
func factLines(f facts.Facts) [][2]string {
	or := func(s string) string {
		if strings.TrimSpace(s) == "" {
			return "unknown"
		}
		return s
	}
	size := func(n facts.Bytes) string {
		if n == 0 {
			return "unknown"
		}
		return quantity.Memory(n)
	}
	out := [][2]string{
		{"host", or(f.Hostname)},
		{"system", or(strings.TrimSpace(f.OS + "/" + f.Arch + " " + f.Distro))},
		{"product", or(f.Product)},
		{"cpu", fmt.Sprintf("%s, %s, %s", or(f.CPU.Model), quantity.Count(f.CPU.Cores, "core"), quantity.Count(f.CPU.Threads, "thread"))},
		{"cpu flags", or(strings.Join(f.CPU.Flags, " "))},
		{"memory", fmt.Sprintf("%s usable of %s, %s free now", size(f.Memory.Total), size(f.Memory.Physical), size(f.Memory.Available))},
	}
	for _, g := range f.GPUs {
		out = append(out, [2]string{"gpu", gpuText(g, size)})
	}
	if len(f.GPUs) == 0 {
		out = append(out, [2]string{"gpu", "none found"})
	}
	for _, n := range f.NPUs {
		out = append(out, [2]string{"npu", n.Vendor + ":" + n.Device})
	}
	out = append(out, [2]string{"backends", backendsText(f)})
	for _, d := range f.Disks {
		out = append(out, [2]string{"disk", fmt.Sprintf("%s free of %s at %s", quantity.Bytes(d.Free), quantity.Bytes(d.Size), d.Path)})
	}
	version := func(name string) string { return strings.TrimSpace(name + " " + f.Versions[name]) }
	join := " "
	if len(f.Versions) > 0 {
		join = ", "
	}
	var managers, programs []string
	for _, name := range f.Managers {
		managers = append(managers, version(name))
	}
	for name := range f.Programs {
		programs = append(programs, version(name))
	}
	slices.Sort(programs)
	out = append(out, [2]string{"packages", or(strings.Join(managers, join))})
	out = append(out, [2]string{"programs", or(strings.Join(programs, join))})
	for _, n := range slices.Concat(f.Notes, f.Unread()) {
		out = append(out, [2]string{"note", n})
	}
	return out
}

// gpuText describes a graphics unit. A memory that cannot be read is unknown, and
// the note says why.
func gpuText(g facts.GPU, size func(facts.Bytes) string) string {
	text := g.Label()
	if g.Driver != "" {
		text += ", driver " + strings.TrimSpace(g.Driver+" "+strings.TrimPrefix(g.DriverVersion, g.Driver))
	}
	switch {
	case g.MemoryUnknown != "":
		text += ", memory unknown"
	case g.Unified && g.VRAM == 0:
		text += ", shares the machine's memory: up to " + size(g.GTT)
	case g.Unified:
		text += fmt.Sprintf(", shares the machine's memory: %s and %s", size(g.VRAM), size(g.GTT))
	case g.Integrated:
		text += ", uses the processor's memory"
	case g.VRAM > 0:
		text += ", " + size(g.VRAM) + " of graphics memory"
		if g.VRAMFree > 0 {
			text += ", " + size(g.VRAMFree) + " of it free now"
		}
	}
	if g.Bandwidth > 0 {
		text += fmt.Sprintf(", %d GB/s", g.Bandwidth/1e9)
	}
	if len(g.Backends) > 0 {
		text += ": " + strings.Join(g.Backends, ", ")
	}
	return text
}

// backendsText says what may compute on this machine beside the processor.
func backendsText(f facts.Facts) string {
	var out []string
	if f.Vulkan {
		out = append(out, "Vulkan (an ICD is installed)")
	}
	if f.ROCm != "" {
		out = append(out, "ROCm "+f.ROCm)
	}
	if f.CUDA != "" {
		out = append(out, "CUDA driver "+f.CUDA)
	}
	for _, g := range f.GPUs {
		if g.Vendor == "106b" && len(g.Backends) > 0 {
			out = append(out, "Metal")
		}
	}
	if len(out) == 0 {
		return "CPU only"
	}
	return strings.Join(out, ", ")
}
