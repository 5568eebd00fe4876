package store

import (
	"os"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
)

// A Mark that is killed leaves its temp file to the next one.
func TestLitterOfAKilledMarkIsSwept(t *testing.T) {
	root := t.TempDir()
	disk, err := fsys.New(fsys.Options{Root: root, Home: "/", Tag: "two"})
	if err != nil {
		t.Fatal(err)
	}
	const sum = "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd"
	litter := filepath.Join(root, string(fsys.TempName(markPath("/models", sum), "one")))
	other := filepath.Join(root, "models", parts, "of another")
	if err := os.MkdirAll(filepath.Dir(litter), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{litter, other} {
		if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	info, err := disk.Lstat(fsys.LogicalPath("/models").Join(parts, "of another"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Mark(disk, "/models", sum, info); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(litter); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", litter, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if !Marked(disk, "/models", sum, info) {
		t.Error("it is not marked")
	}
}
