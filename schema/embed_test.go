package schema

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// vendor writes Files below a cue.mod, as aisync init does.
func vendor(t *testing.T) string {
	t.Helper()
	cueMod := filepath.Join(t.TempDir(), "cue.mod")
	for name, text := range Files() {
		p := filepath.Join(cueMod, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return cueMod
}

func TestVendoredComparesWithBinary(t *testing.T) {
	cueMod := vendor(t)
	in := func(name string) string { return filepath.Join(cueMod, "pkg", "aisync.dev", filepath.FromSlash(name)) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if present, differs, err := Vendored(cueMod); !present || len(differs) > 0 || err != nil {
		t.Fatal(present, differs, err)
	}
	write(filepath.Join(cueMod, "module.cue"), "module: \"mine.example/x@v0\"\nlanguage: version: \"v0.9.0\"\n")
	write(in("schema/host.cue"), "package schema\n")
	write(in("schema/old.cue"), "package schema\n")
	if err := os.Remove(in("catalog/runtimes/pi.cue")); err != nil {
		t.Fatal(err)
	}
	_, differs, err := Vendored(cueMod)
	want := []string{
		"pkg/aisync.dev/catalog/runtimes/pi.cue is missing",
		"pkg/aisync.dev/schema/host.cue is changed",
		"pkg/aisync.dev/schema/old.cue is not part of it",
	}
	if err != nil || !slices.Equal(differs, want) {
		t.Error(differs, err)
	}
	if present, _, err := Vendored(filepath.Join(t.TempDir(), "cue.mod")); present || err != nil {
		t.Error(present, err)
	}
}
