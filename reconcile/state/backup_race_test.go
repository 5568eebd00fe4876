package state

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
)

// Equal links that are taken away at once meet in one backup.
func TestEqualBackupsMayBeKeptAtOnce(t *testing.T) {
	root := t.TempDir()
	w, err := fsys.New(fsys.Options{Root: root, Home: "/", Tag: "race"})
	if err != nil {
		t.Fatal(err)
	}
	d := Open(w, "/state")
	const n = 32
	for i := range n {
		if err := os.Symlink("../rules", filepath.Join(root, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if err := d.KeepBackup(w, fsys.LogicalPath(fmt.Sprintf("/%d", i)), fsys.LinkDigest("../rules")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if b, err := d.GetBackup(fsys.LinkDigest("../rules")); err != nil || string(b) != "../rules" {
		t.Error(string(b), err)
	}
}
