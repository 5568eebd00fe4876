package state

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// farAway is later than any time a file can get while a test runs.
var farAway = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

func TestSweepTakesTheOldAndWhatIsOverTheLimitButNothingNeeded(t *testing.T) {
	const day, forever = 24 * time.Hour, 1 << 62
	for _, c := range []struct {
		name  string
		now   time.Time
		age   time.Duration
		limit int64
		left  int // of 4 backups of 10 bytes, of which one is needed
	}{
		{"nothing is old, no limit", time.Time{}, day, forever, 4},
		{"all are old", farAway, day, forever, 1},
		{"not old enough", farAway, forever, forever, 4},
		{"room for two", time.Time{}, day, 25, 2},
		{"room for none", time.Time{}, day, 0, 1},
		{"just enough room", time.Time{}, day, 40, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, w, _ := newDir(t, nil)
			var digests []string
			for i := range 4 {
				digest, err := d.PutBackup(w, fmt.Appendf(nil, "%010d", i))
				if err != nil {
					t.Fatal(err)
				}
				digests = append(digests, digest)
			}
			needed := map[string]bool{digests[0]: true}
			would, _, err := d.SweepBackups(nil, needed, c.now, c.age, c.limit)
			if err != nil || len(would) != 4-c.left {
				t.Fatal(would, err)
			}
			removed, freed, err := d.SweepBackups(w, needed, c.now, c.age, c.limit)
			if err != nil || len(removed) != 4-c.left || freed != int64(10*len(removed)) {
				t.Fatal(removed, freed, err)
			}
			left := 0
			for _, digest := range digests {
				if d.has(digest) {
					left++
				}
			}
			if left != c.left || !d.has(digests[0]) {
				t.Fatalf("%d left", left)
			}
		})
	}
}

func TestTheAgeOfABackupIsSinceItWasKept(t *testing.T) {
	d, w, root := newDir(t, nil)
	put(t, w, "/old", "edited long ago")
	long := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, "old"), long, long); err != nil {
		t.Fatal(err)
	}
	digest := fsys.Digest([]byte("edited long ago"))
	if err := d.KeepBackup(w, "/old", digest); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.SweepBackups(w, nil, long.Add(48*time.Hour), 24*time.Hour, 1<<62); err != nil || !d.has(digest) {
		t.Fatal("a fresh backup of an old file was taken for an old backup", err)
	}
}

func TestSweepKnowsLinksAndIgnoresStrangers(t *testing.T) {
	d, w, _ := newDir(t, nil)
	for i := range 2 {
		p := fsys.LogicalPath(fmt.Sprint("/l", i))
		if err := w.Symlink(p, fmt.Sprint(i), fsys.Expect{Absent: true}, nil); err != nil {
			t.Fatal(err)
		}
		if err := d.KeepBackup(w, p, fsys.LinkDigest(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	put(t, w, base.Join("backups/README"), "a note")
	put(t, w, base.Join("backups/ab/note"), "a note")
	removed, _, err := d.SweepBackups(w, map[string]bool{fsys.LinkDigest("1"): true}, farAway, 0, 1<<62)
	if err != nil || len(removed) != 1 || d.has(fsys.LinkDigest("0")) || !d.has(fsys.LinkDigest("1")) {
		t.Fatal(removed, err)
	}
	if text(w, base.Join("backups/README"))+text(w, base.Join("backups/ab/note")) != "a notea note" {
		t.Fatal("a stranger's file is gone")
	}
}
