package hosts_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/hosts/hoststest"
	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "write testdata/machines.golden anew")

const gib = 1 << 30

func examined(t testing.TB, name string) facts.Facts {
	t.Helper()
	for _, m := range hoststest.Machines(t, "testdata/machines") {
		if m.Name == name {
			return m.Facts
		}
	}
	t.Fatal("unknown machine " + name)
	return facts.Facts{}
}

// Each machine is made from what others published of theirs: see its first lines.
func TestMachinesOfOthersAreRead(t *testing.T) {
	var b strings.Builder
	machines := hoststest.Machines(t, "testdata/machines")
	if len(machines) < 16 {
		t.Error(len(machines))
	}
	for _, m := range machines {
		if f := m.Facts; len(m.Sources) == 0 || !strings.HasPrefix(m.Sources[0], "https://") {
			t.Errorf("%s names no source", m.Name)
		} else {
			fmt.Fprintf(&b, "%s: %.1f GiB, cuda %q, rocm %q\n", m.Name, float64(f.Memory.Total)/gib, f.CUDA, f.ROCm)
		}
		for _, g := range m.Facts.GPUs {
			fmt.Fprintf(&b, "  %s %s, driver %q %q, memory %.1f, free %.1f, mapped %.1f GiB, unified %v, integrated %v, %d GB/s, %v\n", g.Address, g.Label(), g.Driver, g.DriverVersion,
				float64(g.VRAM)/gib, float64(g.VRAMFree)/gib, float64(g.GTT)/gib, g.Unified, g.Integrated, g.Bandwidth/1e9, g.Backends)
		}
		for _, line := range m.Facts.Unread() {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/machines.golden", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/machines.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

// A spec tells the memory of the units that cannot be read, and of no other.
func TestToldMemoryIsOfUnreadUnits(t *testing.T) {
	look := func() (facts.Facts, error) { return examined(t, "laptop-3060-nouveau"), nil }
	plain, _ := hosts.Told(look, &spec.Host{})()
	told, _ := hosts.Told(look, &spec.Host{GPUGiB: 6})()
	if len(plain.Unread()) != 1 || len(told.Unread()) != 0 || told.GPUs[0].VRAM != 6*gib || told.GPUs[1].VRAM != gib/2 {
		t.Errorf("%v %+v", plain.Unread(), told.GPUs)
	}
}
