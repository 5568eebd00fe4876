// Package start is the commands before the first apply: init, import, validate,
// facts.
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
		Short: "print what is true of this machine: processor, memory, graphics, disks, programs",
		Long: `Prints what aisync knows of this machine and decides by. With --json it is the
form that --facts FILE reads back, so that a plan can be made for a machine that
is elsewhere. It starts no program and dials nothing; --versions asks each program
that it found for its version, which nothing else needs.`,
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
			if versions && p.Root == "" && a.Flags.Facts == "" { // programs of another root, or machine, are not to be started here
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
	cmd.Flags().BoolVar(&versions, "versions", false, "also the versions of programs and package managers: each is started once")
	return cmd
}

// factLines is the table: a word and what is known, "unknown" where nothing is.
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
	backends := []string{}
	if f.Vulkan {
		backends = append(backends, "Vulkan (an ICD is installed)")
	}
	if f.ROCm != "" {
		backends = append(backends, "ROCm "+f.ROCm)
	}
	if f.CUDA != "" {
		backends = append(backends, "CUDA driver "+f.CUDA)
	}
	if len(backends) == 0 {
		backends = []string{"CPU only"}
	}
	out = append(out, [2]string{"backends", strings.Join(backends, ", ")})
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
	for _, n := range f.Notes {
		out = append(out, [2]string{"note", n})
	}
	return out
}

func gpuText(g facts.GPU, size func(facts.Bytes) string) string {
	name := g.Name
	if name == "" {
		name = g.Vendor + ":" + g.Device
	}
	text := name
	if g.Driver != "" {
		text += ", driver " + g.Driver
	}
	if g.Unified {
		return text + fmt.Sprintf(", shares the machine's memory: %s and %s", size(g.VRAM), size(g.GTT))
	}
	if g.VRAM > 0 {
		text += ", " + size(g.VRAM) + " of its own memory"
	}
	return text
}
