package models

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/hoststest"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "write the table of docs/models.md anew")

const (
	page  = "../../../../../docs/models.md"
	begin = "<!-- machines: written by go test ./cmd/aisync/internal/command/models -update -->\n"
	end   = "<!-- /machines -->\n"
)

// coderShape is the header of the catalog's qwen3-coder-30b.
const coderShape = "qwen3moe context=262144 layers=48 attention=48 key=24576 value=24576 vocabulary=151936 embedding=2048 tensors=1000 experts=950 active=59"

// The page tells what others' machines get, as the code decides it today.
func TestPageTellsWhatMachinesGet(t *testing.T) {
	m, ok := catalog.With(spec.Catalog{}).Model("qwen3-coder-30b")
	if !ok {
		t.Fatal("the catalog has no qwen3-coder-30b")
	}
	shape, err := spec.ParseShape(coderShape)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| machine | graphics | memory | computes | quant | layers | verdict | about tokens/s | llama-server on Arch | documented |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, x := range hoststest.Machines(t, "../../../../../hosts/testdata/machines") {
		var names, sizes []string
		for _, g := range x.Facts.GPUs {
			names = append(names, g.Label())
			switch {
			case g.MemoryUnknown != "":
				sizes = append(sizes, "unknown")
			case g.Unified:
				sizes = append(sizes, "shared, "+quantity.Memory(g.VRAM+g.GTT))
			case g.Integrated || g.VRAM == 0:
				sizes = append(sizes, "the processor's")
			default:
				sizes = append(sizes, quantity.Memory(g.VRAM))
			}
		}
		choice := hosts.PickQuantFor(m, x.Facts, hosts.Use{Shape: &shape})
		load := hosts.Load{Name: m.ID, Model: m.ID, Quant: choice.Quant, Shape: &shape}
		for _, q := range m.Quants {
			if q.Name == choice.Quant {
				load.Weights = q.Size()
			}
		}
		v := hosts.Fit([]hosts.Load{load}, x.Facts)
		n, speed := v.Loads[0], "–"
		if n.Speed > 0 {
			speed = fmt.Sprintf("%.0f", n.Speed)
		}
		place, _, _ := strings.Cut(placeText(n), ", by")
		place, _, _ = strings.Cut(place, ";")
		if len(v.Split) > 0 {
			place += fmt.Sprintf(", split %v", v.Split)
		}
		program := "–"
		if x.Facts.OS == "linux" {
			packages, err := service.Programs(&spec.Host{Services: []spec.Service{{Name: "x", Kind: "llama-server", Enabled: true, Install: &spec.Install{Via: "aur"}}}}, &x.Facts)
			if err != nil || len(packages) != 1 {
				t.Fatal(packages, err)
			}
			program = "`" + packages[0].Name + "`"
		}
		or := func(list []string) string {
			if len(list) == 0 {
				return "none"
			}
			return strings.Join(list, "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", x.Title, or(names), or(sizes), hosts.Words(x.Facts.Backends()), choice.Quant, place, v.Level, speed, program, sources(x.Sources))
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	is, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(is, b.String()); diff != "" {
		t.Error(diff)
	}
}

// sources are links to where a machine is documented.
func sources(list []string) string {
	var out []string
	for i, s := range list {
		address, what, _ := strings.Cut(s, " ")
		out = append(out, fmt.Sprintf("[%s](%s)", strings.Trim(what, "()"), address))
		if i == 2 {
			break
		}
	}
	return strings.Join(out, ", ")
}
