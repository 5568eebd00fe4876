package crash_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/reconcile/fsys"
)

// What was synced is in each state, and of the rest each thing that a file
// system may do is in some.
func TestLossKeepsSyncedData(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("old"), []byte("was there"), 0o640); err != nil {
		t.Fatal(err)
	}
	r, err := crash.Record(dir)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := fsys.New(fsys.Options{Project: dir, Tag: "t", Hook: r.Hook})
	if err != nil {
		t.Fatal(err)
	}
	absent := fsys.Expect{Absent: true}
	_, err = disk.MkdirAll("d", 0o755)
	for _, do := range []func() error{
		func() error { return disk.Replace("d/synced", fsys.Content{Bytes: []byte("1")}, absent, nil) },
		disk.Flush,
		func() error { return disk.Replace("d/unsynced", fsys.Content{Bytes: []byte("2")}, absent, nil) },
		func() error { return disk.Note("old", []byte(", more")) },
		func() error { return disk.Move("d/synced", "moved") },
	} {
		if err == nil {
			err = do()
		}
	}
	steps, rerr := r.End()
	if err != nil || rerr != nil {
		t.Fatal(err, rerr)
	}
	var seen []string
	r.Losses(steps, 4, map[uint64]bool{}, func(l crash.Loss) bool {
		if err := l.Put(); err != nil {
			t.Fatal(err)
		}
		text := func(name string) string {
			b, err := os.ReadFile(at(name))
			if err != nil {
				return "-"
			}
			return string(b)
		}
		if info, err := os.Stat(at("old")); err != nil || info.Mode() != 0o640 {
			t.Errorf("%s: %v %v", l.Text, info, err)
		}
		seen = append(seen, text("d/synced")+" "+text("moved")+" "+text("d/unsynced")+" "+text("old"))
		return true
	})
	slices.Sort(seen)
	var want []string
	for _, names := range []string{"- 1 2", "1 - -", "1 - 2"} { // the names in d in their order, the rename in one step
		for _, old := range []string{"was there", "was there, more", "was there, m", "was there\x00\x00\x00\x00\x00\x00"} {
			want = append(want, names+" "+old)
		}
	}
	slices.Sort(want)
	if !slices.Equal(slices.Compact(slices.Clone(seen)), want) {
		t.Errorf("%q\nwant\n%q", seen, want)
	}
}
