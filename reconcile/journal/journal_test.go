package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/record"
	"aisync.dev/aisync/reconcile/state"
)

func disk(t *testing.T) (*fsys.Disk, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := fsys.New(fsys.Options{Root: root, Home: "/home/me", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return w, root
}

const at fsys.LogicalPath = "/state/journal.jsonl"

// What a kill left of a journal is read up to its last whole line.
func TestAJournalIsReadUpToItsLastWholeLine(t *testing.T) {
	w, root := disk(t)
	e := Entry{FormatVersion: Version, ID: "apply0001", Changes: []Step{{Address: "file:~/a", Writes: true}, {Address: "file:~/b", Writes: true}}}
	j, err := Begin(w, at, e)
	if err != nil || !j.Running() {
		t.Fatal(j, err)
	}
	if _, err := Begin(w, at, e); err == nil {
		t.Error("a second apply began over the journal of an unfinished one")
	}
	if err := j.Revise(1, Step{Address: "file:~/b", Writes: true, Before: "sha256:1"}); err != nil {
		t.Fatal(err)
	}
	if err := j.Finish(Step{Address: "file:~/a", Writes: true, After: "sha256:2"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, string(at))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest := strings.Index(string(whole), "\n")+1, strings.LastIndex(strings.TrimSuffix(string(whole), "\n"), "\n")+1
	for n := range len(whole) + 1 {
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := Read(w, at)
		if err != nil || (j != nil) != (n >= head) {
			t.Fatalf("of %d bytes: %v %v", n, j, err)
		}
		if j == nil {
			continue
		}
		if again := j.Entry().Changes[1].Before == "sha256:1"; again != (n >= rest) {
			t.Errorf("of %d bytes: begun anew %v", n, again)
		}
		if step, noted := j.Done("file:~/a"); noted != (n == len(whole)) || noted && step.After != "sha256:2" {
			t.Errorf("of %d bytes: %+v %v", n, step, noted)
		}
		if j.Running() {
			t.Error("a journal that was read passes for one of this process")
		}
	}
}

func TestANewerJournalIsNotRead(t *testing.T) {
	w, root := disk(t)
	if err := os.MkdirAll(filepath.Join(root, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, string(at)), []byte(`{"head":{"format_version":2,"id":"x","changes":[]}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(w, at); !errors.Is(err, state.ErrNewer) {
		t.Error(err)
	}
}

func TestAStepChangedItsTargetOrARecord(t *testing.T) {
	rec := func(leaves int) []record.Owned {
		return []record.Owned{{Owner: "host", Record: record.Record{Address: "file:~/a", Leaves: []record.LeafRecord{{Key: "/a"}, {Key: "/b"}}[:leaves]}}}
	}
	for name, c := range map[string]struct {
		step Step
		want bool
	}{
		"nothing":                    {Step{}, false},
		"written, and the same":      {Step{Writes: true, Before: "1", After: "1"}, false},
		"written":                    {Step{Writes: true, Before: "1", After: "2"}, true},
		"seen, and not written":      {Step{Before: "1", After: "2"}, false},
		"recorded as it was":         {Step{Had: rec(1), Got: rec(1)}, false},
		"recorded":                   {Step{Got: rec(1)}, true},
		"forgotten":                  {Step{Had: rec(1)}, true},
		"a leaf more is on record":   {Step{Had: rec(1), Got: rec(2)}, true},
		"a leaf less is on record":   {Step{Had: rec(2), Got: rec(1)}, true},
		"an owner with no leaf left": {Step{Had: rec(1), Got: rec(0)}, true},
	} {
		if got := c.step.Changed(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
