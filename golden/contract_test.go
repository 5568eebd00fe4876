// Package golden holds no code: specs that must work as they stand, and what
// they come to on the reference hosts. Nothing here may be made to fit the
// program. Start reading at contract/README.md.
package golden

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The contract is kept elsewhere; this copy is what tests use.
const origin = "../../shared/contract"

func TestTheContractIsTheOneThatWasAgreed(t *testing.T) {
	if _, err := os.Stat(origin); err != nil {
		t.Skip("the original is not here")
	}
	want, got := files(t, origin), files(t, "contract")
	for name, w := range want {
		g, ok := got[name]
		switch {
		case !ok:
			t.Errorf("%s is missing", name)
		case !bytes.Equal(w.text, g.text):
			t.Errorf("%s differs", name)
		case w.executable != g.executable:
			t.Errorf("%s: executable is %v, want %v", name, g.executable, w.executable)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is not part of it", name)
	}
}

type file struct {
	text       []byte
	executable bool
}

func files(t *testing.T, root string) map[string]file {
	t.Helper()
	found := map[string]file{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		found[name] = file{text, info.Mode()&0o111 != 0}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
