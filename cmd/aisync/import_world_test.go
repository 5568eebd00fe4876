package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// world holds snapshots of public repositories, beside the repository where it is
// tested.
var world = cmp.Or(os.Getenv("AISYNC_TEST_WORLD"), filepath.Join("..", "..", "..", "shared", "world"))

// Public repositories come in whole, as the projects of testdata do.
func TestImportedRepositoriesKeepWhatProgramsHave(t *testing.T) {
	for _, name := range []string{"rulesync", "superpowers", "wshobson-agents"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := os.Open(filepath.Join(world, name+".tar.gz"))
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("the snapshots of repositories are not here")
			}
			must(t, err)
			defer archive.Close()
			i := newImported(t)
			unpack(t, archive, i.project)
			i.commit()
			i.cycle()
		})
	}
}
