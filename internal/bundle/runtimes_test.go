package bundle

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestASourceBringsItsRuntimesAlong(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *Tree {
		t.Helper()
		tree, err := new(Sources).Open(context.Background(), spec.Source{Name: "src", URL: dir})
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	digest := func() string {
		t.Helper()
		d, err := open().Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	none := digest()
	write("runtimes/mine.toml", "id = \"mine\"\ncommand = \"mine\"\n")
	write("runtimes/.hidden.toml", "nonsense")
	write("runtimes/claude/README.md", "an adapter's own folder")
	one := digest()
	if none == one {
		t.Error("the digest does not see a manifest")
	}
	got, err := open().Runtimes()
	if err != nil || len(got) != 1 || got[0].ID != "mine" || got[0].Source != "src" || got[0].Pos.File != filepath.Join(dir, "runtimes", "mine.toml") {
		t.Errorf("%+v %v", got, err)
	}

	write("runtimes/other.toml", "id = \"oter\"\n")
	got, err = open().Runtimes()
	if len(got) != 1 || err == nil || !strings.Contains(err.Error(), `other.toml:1:1: id: is "oter"`) {
		t.Errorf("%+v %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, "runtimes", "other.toml")); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(outside, []byte("id = \"x\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "runtimes", "x.toml")); err != nil {
		t.Fatal(err)
	}
	if got, err := open().Runtimes(); len(got) != 1 || err == nil || !strings.Contains(err.Error(), "links out of the source") {
		t.Errorf("%+v %v", got, err)
	}
}
