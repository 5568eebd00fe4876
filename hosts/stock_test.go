package hosts_test

import (
	"fmt"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/hosts/hoststest"
)

func stocks(f facts.Facts) string {
	var out []string
	for _, s := range hosts.Stocks(catalog.Models(), f) {
		text := fmt.Sprintf("%s %s %s=%s :%d %d", s.Service, s.Model.ID, s.Quant, s.Choice.Quant, s.Port, s.Context)
		if s.Off {
			text += " off"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// The two machines of the seed's table, and others.
func TestStocksOfMachines(t *testing.T) {
	quick := "; quick qwen3-8b Q4_K_M=Q4_K_M :8082 0 off"
	for name, want := range map[string]string{
		"pearl": "coder qwen3-coder-30b auto=Q6_K :8081 65536; big qwen3-next-80b Q4_K_M=Q4_K_M :8082 262144",
		"velox": "coder qwen3-coder-30b auto=Q4_K_M :8081 32768" + quick,
	} {
		f, ok := hosts.Recorded(name)
		if got := stocks(f); !ok || got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		f.Disks = []facts.Disk{{Path: "/home/me", Size: 100e9, Free: 20e9}}
		if got := stocks(f); got != "" {
			t.Errorf("%s with a full disk: %q", name, got)
		}
	}
	got := map[string]string{}
	for _, m := range hoststest.Machines(t, "testdata/machines") {
		m.Facts.Disks = nil // those of the machine that runs this test
		got[m.Name] = stocks(m.Facts)
	}
	for name, want := range map[string]string{
		"geforce-3090": "coder qwen3-coder-30b auto=Q4_K_M :8081 32768" + quick,
		"strix-halo":   "coder qwen3-coder-30b auto=Q6_K :8081 65536; big qwen3-next-80b Q4_K_M=Q4_K_M :8082 262144",
		"no-graphics":  "",
		"apple-m4":     "",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if got := stocks(facts.Facts{}); got != "" {
		t.Errorf("a machine of which nothing is known: %q", got)
	}
}
