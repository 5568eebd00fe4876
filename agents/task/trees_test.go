package task

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHolder(t *testing.T) {
	repo, trees := t.TempDir(), t.TempDir()
	dir := filepath.Join(trees, "one-1")
	for _, c := range []struct {
		name    string
		journal *journal
		scratch bool
		holds   string
	}{
		{"no record", nil, false, ""},
		{"at work", &journal{Tree: dir, Stage: stageVerify}, false, "is being worked on"},
		{"at work in another", &journal{Tree: dir + "x", Stage: stageVerify}, false, ""},
		{"decided", &journal{Tree: dir, Report: &Report{Status: "failed"}}, false, ""},
		{"left by a crash", &journal{Left: []Leftover{{Tree: dir}}}, false, ""},
		{"its commands run", &journal{Tree: dir, Report: &Report{}}, true, "is being worked on"},
	} {
		runs := Queue{Dir: repo}.Runs("one")
		os.RemoveAll(runs)
		os.Remove(dir + scratch)
		if c.journal != nil {
			if err := c.journal.write(runs); err != nil {
				t.Fatal(err)
			}
		}
		if c.scratch {
			if err := os.Mkdir(dir+scratch, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if why, err := Holder(repo, "one", dir); err != nil || (why == "") != (c.holds == "") || !strings.Contains(why, c.holds) {
			t.Errorf("%s: %q, %v", c.name, why, err)
		}
	}
	if err := os.WriteFile(filepath.Join(Queue{Dir: repo}.Runs("one"), journalName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Holder(repo, "one", dir); err == nil {
		t.Error("an unreadable journal holds nothing")
	}
	for branch, id := range map[string]string{"chiffon/one/2": "one", "chiffon/one": "", "aisync/one/2": "", "": "", "chiffon/one/2/3": ""} {
		if got := TreeOf(branch); got != id {
			t.Errorf("%s: %q", branch, got)
		}
	}
}
