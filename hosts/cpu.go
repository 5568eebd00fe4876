package hosts

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/hosts/facts"
)

// processors reads the machine's name, and what the kernel says of its
// processors. Threads of one core share its id within a package; where the kernel
// names no cores, each thread counts as one.
func (m machine) processors(f *facts.Facts) []string {
	f.Product = m.product()
	cores := map[string]bool{}
	var first map[string]string
	for block := range strings.SplitSeq(m.text("/proc/cpuinfo"), "\n\n") {
		says := map[string]string{}
		for line := range strings.Lines(block) {
			if key, value, ok := strings.Cut(line, ":"); ok {
				says[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
		number, err := strconv.Atoi(says["processor"])
		if err != nil {
			continue // of the machine, as on a Raspberry Pi
		}
		if first == nil {
			first = says
		}
		f.CPU.Threads++
		topology := path.Join("/sys/devices/system/cpu", "cpu"+strconv.Itoa(number), "topology")
		pack, core := m.text(path.Join(topology, "physical_package_id")), m.text(path.Join(topology, "core_id"))
		if core == "" {
			pack, core = says["physical id"], says["core id"]
		}
		if core == "" {
			core = "thread " + strconv.Itoa(number)
		}
		cores[pack+"/"+core] = true
	}
	if first == nil {
		return []string{"processors: unknown"}
	}
	f.CPU.Cores = len(cores)
	for _, key := range []string{"model name", "Processor", "cpu model", "uarch"} {
		if f.CPU.Model == "" {
			f.CPU.Model = first[key]
		}
	}
	can := strings.Fields(first["flags"] + " " + first["Features"])
	for _, flag := range flags {
		if slices.Contains(can, flag) {
			f.CPU.Flags = append(f.CPU.Flags, flag)
		}
	}
	return nil
}

// product is what the firmware calls the machine; "" if it says nothing.
func (m machine) product() string {
	name, vendor := m.text("/sys/class/dmi/id/product_name"), m.text("/sys/class/dmi/id/sys_vendor")
	if name == "" || vendor == "" || strings.HasPrefix(name, vendor) {
		return name
	}
	return vendor + " " + name
}
