package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The committed reference is the one that the commands give.
func TestTheReferenceIsCurrent(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if code := run([]string{"aisync", "gen-docs", dir}, nil, &out, &out, []string{"HOME=/nowhere"}); code != 0 {
		t.Fatalf("gen-docs: exit code %d\n%s", code, out.String())
	}
	for _, name := range []string{"commands.md", "adapters.md"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if have, _ := os.ReadFile(filepath.Join("..", "..", "docs", name)); !bytes.Equal(have, want) {
			t.Errorf("docs/%s is not what the commands say; run: make docs", name)
		}
	}
}
