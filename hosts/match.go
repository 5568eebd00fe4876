package hosts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

const gib = 1 << 30

// Matches reports whether every field of m that is set matches f, and which did
// not, or which did. A host without a match is any machine. Memory is the
// installed memory if known, because people buy 64 GiB and the kernel shows
// 62.5.
func Matches(m spec.Match, f facts.Facts) (bool, string) {
	var no, yes []string
	note := func(ok bool, name, want, got string) {
		if got == "" {
			got = "unknown"
		}
		if ok {
			yes = append(yes, name+" "+got)
			return
		}
		no = append(no, fmt.Sprintf("%s is %s, not %s", name, got, want))
	}
	if m.Hostname != "" {
		short, _, _ := strings.Cut(f.Hostname, ".")
		note(f.Hostname != "" && (m.Hostname == f.Hostname || m.Hostname == short), "hostname", m.Hostname, f.Hostname)
	}
	for _, re := range []struct{ name, want, got string }{{"cpu", m.CPU, f.CPU.Model}, {"product", m.Product, f.Product}} {
		if re.want == "" {
			continue
		}
		expr, err := regexp.Compile(re.want)
		note(err == nil && re.got != "" && expr.MatchString(re.got), re.name, "/"+re.want+"/", re.got)
	}
	if m.MemoryGiB.Op != "" {
		memory, got := f.Memory.Physical, ""
		if memory == 0 {
			memory = f.Memory.Total
		}
		if memory > 0 {
			got = fmt.Sprintf("%.4g GiB", float64(memory)/gib)
		}
		note(memory > 0 && holds(m.MemoryGiB, float64(memory)/gib), "memory", fmt.Sprintf("%s%g GiB", m.MemoryGiB.Op, m.MemoryGiB.GiB), got)
	}
	switch {
	case len(no) > 0:
		return false, strings.Join(no, " and ")
	case len(yes) == 0:
		return true, "it has no match, so it fits any machine"
	}
	return true, strings.Join(yes, " and ")
}

func holds(b spec.Bound, gib float64) bool {
	switch b.Op {
	case "<":
		return gib < b.GiB
	case "<=":
		return gib <= b.GiB
	case ">":
		return gib > b.GiB
	case ">=":
		return gib >= b.GiB
	}
	return gib == b.GiB
}

// Told returns look with the memory that h gives for graphics units whose memory
// cannot be read. What can be read stays.
func Told(look func() (facts.Facts, error), h *spec.Host) func() (facts.Facts, error) {
	if h == nil || h.GPUGiB == 0 {
		return look
	}
	return func() (facts.Facts, error) {
		f, err := look()
		f.GPUs = slices.Clone(f.GPUs)
		for i := range f.GPUs {
			if g := &f.GPUs[i]; g.MemoryUnknown != "" {
				g.VRAM, g.MemoryUnknown = h.GPUGiB*gib64, ""
			}
		}
		return f, err
	}
}
