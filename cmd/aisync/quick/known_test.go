package quick

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAddsRuntimes(t *testing.T) {
	for text, want := range map[string]bool{
		"catalog: runtimes: x: {}":                true,
		"x: 1\nproject: bundles: [\"elisp\"]":     true,
		"import \"strings\"":                      true,
		"sources":                                 true,
		"":                                        false,
		"package aisync\nhosts: here: {}":         false,
		"mycatalog: 1, catalogs: 2, import_: 3":   false,
		"_bundles: 1, catalogcatalog: 2, imports": false,
		"catalogs: 1\ncatalog: 2":                 true,
	} {
		if got := addsRuntimes([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestDigestOfFolder(t *testing.T) {
	dir := t.TempDir()
	empty := DigestOf(dir)
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	one := DigestOf(dir)
	if empty == "" || one == empty || DigestOf(filepath.Join(dir, "a")) == "" {
		t.Errorf("empty %q, with a file %q", empty, one)
	}
	if got := DigestOf(filepath.Join(dir, "b")); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
