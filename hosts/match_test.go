package hosts

import (
	"testing"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/schema/spec"
)

func TestMatchesNeedsEveryField(t *testing.T) {
	laptop := facts.Facts{
		Hostname: "velox.lan", Product: "Framework Laptop", CPU: facts.CPU{Model: "13th Gen Intel(R) Core(TM) i7-1370P"},
		Memory: facts.Memory{Total: 62<<30 + 1<<29, Physical: 64 << 30},
	}
	for name, c := range map[string]struct {
		m   spec.Match
		f   facts.Facts
		ok  bool
		why string
	}{
		"nothing asked":       {spec.Match{}, facts.Facts{}, true, "it has no match, so it fits any machine"},
		"short hostname":      {spec.Match{Hostname: "velox"}, laptop, true, "hostname velox.lan"},
		"whole hostname":      {spec.Match{Hostname: "velox.lan"}, laptop, true, "hostname velox.lan"},
		"part of a hostname":  {spec.Match{Hostname: "vel"}, laptop, false, "hostname is velox.lan, not vel"},
		"two that hold":       {spec.Match{CPU: "i7-1370P", Product: "^Framework"}, laptop, true, "cpu 13th Gen Intel(R) Core(TM) i7-1370P and product Framework Laptop"},
		"one of two":          {spec.Match{CPU: "i7-1370P", Product: "^Mac"}, laptop, false, "product is Framework Laptop, not /^Mac/"},
		"built-in memory":     {spec.Match{MemoryGiB: spec.Bound{Op: ">=", GiB: 64}}, laptop, true, "memory 64 GiB"},
		"exactly":             {spec.Match{MemoryGiB: spec.Bound{Op: "==", GiB: 64}}, laptop, true, "memory 64 GiB"},
		"less":                {spec.Match{MemoryGiB: spec.Bound{Op: "<", GiB: 64}}, laptop, false, "memory is 64 GiB, not <64 GiB"},
		"at most":             {spec.Match{MemoryGiB: spec.Bound{Op: "<=", GiB: 64}}, laptop, true, "memory 64 GiB"},
		"more":                {spec.Match{MemoryGiB: spec.Bound{Op: ">", GiB: 64}}, laptop, false, "memory is 64 GiB, not >64 GiB"},
		"the kernel's memory": {spec.Match{MemoryGiB: spec.Bound{Op: ">=", GiB: 62}}, facts.Facts{Memory: facts.Memory{Total: 62 << 30}}, true, "memory 62 GiB"},
		"unknown memory":      {spec.Match{MemoryGiB: spec.Bound{Op: "<", GiB: 8}}, facts.Facts{}, false, "memory is unknown, not <8 GiB"},
		"unknown CPU":         {spec.Match{CPU: ".*"}, facts.Facts{}, false, "cpu is unknown, not /.*/"},
	} {
		if ok, why := Matches(c.m, c.f); ok != c.ok || why != c.why {
			t.Errorf("%s: %v, %s", name, ok, why)
		}
	}
}

func TestReferenceHostsExist(t *testing.T) {
	for _, name := range []string{DefaultName, "pearl", "velox"} {
		if text, ok := Example(name); !ok || len(text) == 0 {
			t.Error(name)
		}
	}
	if _, ok := Example("unknown"); ok {
		t.Error("an unknown example exists")
	}
}
